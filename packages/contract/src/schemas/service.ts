import { type Static, Type } from './type.ts'
import { closed, Timestamp } from './primitives.ts'

/** Why the service is not ready: the failing part and its problem. */
export const UNREADINESS = {
  store_unreadable: 'The database cannot be read.',
  store_unwritable:
    'The last transaction could not be written: the database is locked or read-only, or its disk fails.',
  migrations_pending: 'A schema migration of this version is not applied.',
  migrations_unknown: 'A newer version has migrated the database.',
  disk_full: 'The disk of the database is full or nearly full.',
  keys_unknown: 'Another node creates sessions with a root key that this node does not have.',
  draining: 'The service is shutting down. It completes the open requests.',
  clock_behind: 'The clock is more than 1 s behind the latest stored session.',
} as const
export type Unreadiness = keyof typeof UNREADINESS

export const Health = closed({ status: Type.String(), reasons: Type.Array(Type.String()) })
export type Health = Static<typeof Health>

export const Version = closed({
  version: Type.String(),
  api: Type.String(),
  server_time: Timestamp,
})
export type Version = Static<typeof Version>
