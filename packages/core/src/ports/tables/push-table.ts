import type { DeviceId, SubjectId, TenantId } from '@bonded/contract'
import type { Device, Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** Where a phone is woken. */
export interface PushSubscription {
  readonly device: Device
  readonly endpoint: string
}

/** How phones are woken: the key, the subscriptions, and how often a user was woken. */
export interface PushTable {
  /** The stored key, sealed; undefined before the first start. */
  key(): Work<string | undefined>
  /** Stores the key in place of the given one, unless another process has done so before. */
  storeKey(sealed: string, before: string | undefined): Work<void>
  /** The endpoint of a device; undefined without a subscription. */
  endpoint(id: DeviceId): Work<string | undefined>
  /**
   * Sets the endpoint of a device; null ends its subscription. An endpoint is one phone's, so the
   * subscription of another device with it ends.
   */
  subscribe(device: Pick<Device, 'id' | 'subjectId'>, endpoint: string | null): Work<void>
  /** Ends a subscription, unless the device has replaced it. @returns false if nothing ended */
  end(id: DeviceId, endpoint: string): Work<boolean>
  /** The subscriptions of a user's devices that are not removed. */
  subscriptions(id: SubjectId): Work<readonly PushSubscription[]>
  /** How many devices have a subscription. */
  count(): Work<number>
  /**
   * Counts that a credential, of which a request is counted, wakes the user. @returns false if a
   * limit forbids it, and nothing is counted
   */
  countWakeUp(
    by: { readonly tenantId: TenantId; readonly subjectId: SubjectId; readonly caller: string },
    now: Instant,
  ): Work<boolean>
}
