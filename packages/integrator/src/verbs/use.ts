import type { GateParts } from './parts.ts'
import type { AcceptVerdict, ReviewVerdict } from './verdict.ts'

/** What became of a use: the action's result, or nothing because the bond was used already. */
export type Used<T> = { readonly used: true; readonly result: T } | { readonly used: false }

/** The row goes unused to used in the transaction of the action: one bond, one action. */
export async function useBond<Tx, T>(
  parts: GateParts<Tx>,
  verdict: AcceptVerdict | ReviewVerdict,
  action: (tx: Tx) => Promise<T>,
): Promise<Used<T>> {
  const { session_id, owner } = verdict
  return parts.store.transaction(async (tx): Promise<Used<T>> => {
    const used_at = new Date(parts.clock.now()).toISOString()
    if (!(await parts.store.use({ session_id, owner, used_at }, tx))) return { used: false }
    return { used: true, result: await action(tx) }
  })
}
