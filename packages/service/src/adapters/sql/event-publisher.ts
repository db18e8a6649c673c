import type { RequestId } from '@bonded/contract'
import type { Announcement } from '../../ports/bus.ts'

/** Notes what is to be told once the unit of work is durable. */
export type Announce = (announcement: Announcement) => void

/** What the tables know of the unit of work that runs just now. */
export interface Writing {
  readonly announce: Announce
  /** The request that the unit works for; null where nobody asked for it. */
  readonly requestId: () => RequestId | null
}
