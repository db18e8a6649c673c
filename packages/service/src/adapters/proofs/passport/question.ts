import type { PassportSignal } from '@bonded/contract'
import type { Instant } from '../../../domain/session.ts'
import type { Tenant } from '../../../domain/tenant.ts'

/** What a worker is asked. Plain data: it is copied to another thread. */
export interface PassportQuestion {
  readonly passport: PassportSignal
  readonly challenge: Uint8Array
  readonly environment: Tenant['environment']
  readonly now: Instant
}
