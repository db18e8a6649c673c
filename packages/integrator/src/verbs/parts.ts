import type { GateClock, RandomBytes } from '../clock.ts'
import type { PendingStore } from '../pending/pending-store.ts'
import type { Service } from '../service/call.ts'

/** What every gate of this integrator demands, beside what the service's own workflow policy does. */
export interface GatePolicy {
  /** Your tenant id: an answer about another tenant's session is refused. */
  readonly tenant_id?: string
  /** By workflow, the passport setting. `required` refuses a bond without the chip. Default `none`. */
  readonly passport?: { readonly [workflow: string]: 'none' | 'optional' | 'required' }
}

/** What the verbs work with. */
export interface GateParts<Tx> {
  readonly service: Service
  readonly store: PendingStore<Tx>
  readonly policy: GatePolicy
  readonly clock: GateClock
  readonly random: RandomBytes
}
