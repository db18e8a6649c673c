import type { PendingStore } from './pending/pending-store.ts'
import { requireOptions } from './required.ts'
import { parseService, type ServiceOptions } from './service/options.ts'
import { type Completion, completeBond } from './verbs/complete.ts'
import { type CreateBond, createBond, type PublicCreatedSession } from './verbs/create.ts'
import { issuedVerdicts } from './verbs/issued-verdicts.ts'
import type { GateDependencies, GatePolicy } from './verbs/dependencies.ts'
import { parsePolicy, rejectUnknownMembers } from './verbs/gate-policy.ts'
import { type ProtectedSubmit, type ProtectOutcome, protectSubmit } from './verbs/protect.ts'
import { type Used, useBond } from './verbs/use.ts'
import type { AcceptVerdict, ReviewVerdict, Submit, Verdict } from './verbs/verdict.ts'
import { verifySubmit } from './verbs/verify.ts'

/** The options of a gate. */
export interface GateOptions<Tx> extends ServiceOptions {
  readonly store: PendingStore<Tx>
  readonly policy?: GatePolicy
}

const OPTIONS = ['baseUrl', 'serverCredential', 'store', 'policy', 'fetch', 'clock', 'random']

/** Five verbs, in the order of a bond's life. Every one may be called by many requests at once. */
export interface Gate<Tx> {
  /** Creates a session for this owner and returns it without its completion secret. */
  create(bond: CreateBond): Promise<{ session: PublicCreatedSession }>
  /** Verifies a submit and changes nothing. */
  verify(submit: Submit): Promise<Verdict>
  /**
   * Runs the action in the transaction that uses the bond up. `used` is false when another submit
   * used it first, or the verdict has expired (`VERDICT_TTL_MS`, or with its session).
   *
   * @throws {GateError} `verdict_invalid` for anything but a verdict that this gate issued
   */
  use<T>(verdict: AcceptVerdict | ReviewVerdict, action: (tx: Tx) => Promise<T>): Promise<Used<T>>
  /** Is called after the commit. Safe to repeat. */
  complete(session_id: string, completion?: Completion): Promise<void>
  /** Verify, use, complete: the usual choice of an endpoint. */
  protect<T>(submit: ProtectedSubmit<Tx, T>): Promise<ProtectOutcome<T>>
}

/**
 * A gate before one or more protected actions.
 *
 * @throws {GateError} `invalid_configuration`, before any call
 * @example
 * const gate = createGate({ baseUrl, serverCredential, store: memoryPendingStore() })
 * const digest = await bindingDigest(record)
 * const context = { display: [{ label: 'Amount', value: '€12,500' }], digest }
 * const { session } = await gate.create({ workflow, action, owner: 'user-1', context })
 */
export function createGate<Tx>(options: GateOptions<Tx>): Gate<Tx> {
  rejectUnknownMembers(options, OPTIONS)
  requireOptions('createGate', options, { store: ['put', 'find', 'transaction', 'use'] })
  const { store, policy = {} } = options
  const service = parseService(options)
  const gate: GateDependencies<Tx> = {
    service,
    store,
    policy: parsePolicy(policy),
    verdicts: issuedVerdicts(),
    clock: service.clock,
    random: service.random,
  }
  return {
    create: (bond) => createBond(gate, bond),
    verify: (submit) => verifySubmit(gate, submit),
    use: (verdict, action) => useBond(gate, verdict, action),
    complete: (session_id, completion) => completeBond(gate, session_id, completion),
    protect: (submit) => protectSubmit(gate, submit),
  }
}
