import type { ChangeNotification } from '@bonded/core/ports/bus'
import type { Cause } from '@bonded/core/ports/store'
import type { SessionKeys } from './session-keys.ts'
import type { Dialect } from '../dialect.ts'

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
