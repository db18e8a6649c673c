import type { GateClock, RandomBytes } from '../clock.ts'
import type { PendingStore } from '../pending/pending-store.ts'
import type { Service } from '../service/call.ts'
import type { IssuedVerdicts } from './issued-verdicts.ts'

/**
 * The requirements of every check of this gate, in addition to the service's own workflow policy.
 */
export interface GatePolicy {
  /** Your tenant id: a session of another tenant is rejected. */
  readonly tenant_id?: string
  /**
   * By workflow, the passport setting. `required` rejects a bond without the chip. Default `none`.
   */
  readonly passport?: { readonly [workflow: string]: 'none' | 'optional' | 'required' }
}

/** The dependencies of the verbs. */
export interface GateDependencies<Tx> {
  readonly service: Service
  readonly store: PendingStore<Tx>
  readonly policy: GatePolicy
  readonly verdicts: IssuedVerdicts
  readonly clock: GateClock
  readonly random: RandomBytes
}
