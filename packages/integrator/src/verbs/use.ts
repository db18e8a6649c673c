import type { GateDependencies } from './dependencies.ts'
import type { AcceptVerdict, ReviewVerdict } from './verdict.ts'

/**
 * The result of a use: what the action returned, or why the action did not run.
 * `already_used`: another submit used the bond first. `verdict_expired`: verify again.
 */
export type Used<T> =
  | { readonly used: true; readonly result: T }
  | { readonly used: false; readonly reason: 'already_used' | 'verdict_expired' }

/** Marks the row used in the transaction of the action: one bond, one action. */
export async function useBond<Tx, T>(
  gate: GateDependencies<Tx>,
  verdict: AcceptVerdict | ReviewVerdict,
  action: (tx: Tx) => Promise<T>,
): Promise<Used<T>> {
  const { session_id, owner, expiresAtMs } = gate.verdicts.recall(verdict)
  return gate.store.transaction(async (tx): Promise<Used<T>> => {
    // Inside the transaction: the wait for it can outlive the verdict.
    const now = gate.clock.now()
    if (now >= expiresAtMs) return { used: false, reason: 'verdict_expired' }
    const used_at = new Date(now).toISOString()
    if (!(await gate.store.use({ session_id, owner, used_at }, tx)))
      return { used: false, reason: 'already_used' }
    return { used: true, result: await action(tx) }
  })
}
