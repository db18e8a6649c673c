import { type Static, Type } from './type.ts'
import { closed, Timestamp } from './primitives.ts'

/** What can keep the service from doing its work: the part first, then what is wrong with it. */
export const UNREADINESS = {
  store_unreadable: 'The database cannot be read.',
  store_unwritable:
    'The last transaction could not be written: the database is locked, read-only, or its disk fails.',
  migrations_pending: 'The database lacks a step of this program’s schema.',
  migrations_unknown:
    'The database has a step that this program does not know: a newer version has migrated it.',
  disk_full: 'The disk of the database is full, or nearly.',
  keys_unknown: 'Another node makes sessions with a root key that this one does not have.',
  clock_behind: 'The clock is more than a second behind that of a stored session.',
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
