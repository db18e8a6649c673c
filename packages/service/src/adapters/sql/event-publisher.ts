import type { ChangeNotification } from '../../ports/bus.ts'
import type { Cause } from '../../ports/store.ts'
import type { SessionKeys } from './session-keys.ts'
import type { Dialect } from './dialect.ts'

/** Queues an event, which the store publishes once the unit of work is durable. */
export type Notify = (notification: ChangeNotification) => void

/** The context of the running unit of work. */
export interface Writing {
  readonly notify: Notify
  /** The request that caused the unit; undefined for scheduled maintenance and commands. */
  readonly cause: () => Cause | undefined
  readonly sessionKeys: SessionKeys
  readonly dialect: Dialect
  readonly mayWrite: boolean
}
