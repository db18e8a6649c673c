import type { Announcement } from '../../ports/bus.ts'

/** Notes what is to be told once the unit of work is durable. */
export type Announce = (announcement: Announcement) => void
