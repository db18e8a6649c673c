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
  /**
   * By workflow that requires the browser: the exact origin of your page. Pass `browser_secret` of
   * the form with each submit.
   *
   * Each session must name its user by `subject_ref`. `firstBond: true` accepts one that names no
   * user, such as a registration: its bond proves that a phone and the page are together, but not
   * whose they are.
   */
  readonly requireBrowser?: {
    readonly [workflow: string]: { readonly origin: string; readonly firstBond?: boolean }
  }
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
