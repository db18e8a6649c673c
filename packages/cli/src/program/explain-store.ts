import { describeFailure } from '@bonded/contract'
import type { StoreError, StoreFailure } from '@bonded/core/ports/store'

/** Why the database does not work, and what to do about it. */
export function explainStore(failure: StoreError): string {
  const { kind, where = 'the database', isServer, message, cause } = failure
  if (kind === undefined) return message
  // Several failed addresses of one host are an error without a message.
  const detail = cause instanceof Error ? cause.message || describeFailure(cause) : message
  const onServer = isServer ? ON_SERVER[kind] : undefined
  return onServer?.(where, detail) ?? `${WHAT[kind](where, detail)} ${REMEDY[kind]}`
}

const WHAT: Readonly<Record<StoreFailure, (where: string, detail: string) => string>> = {
  full: (where) => `The disk that holds ${where} is full. Nothing was changed.`,
  locked: (where) => `${where} is locked: another program is writing to it. Nothing was changed.`,
  read_only: (where) => `${where} is read-only. Nothing was changed.`,
  cannot_open: (where) => `${where} cannot be opened. Nothing was changed.`,
  not_a_database: (where) => `${where} is not a SQLite database. The file was not changed.`,
  damaged: (where, detail) => `${where} is damaged (${detail}). The file was not changed.`,
  input_output: (where, detail) => `Reading or writing ${where} failed (${detail}).`,
  unreachable: (where, detail) => `${where} cannot be reached (${detail}).`,
  busy: (where, detail) => `${where} lacks time or resources (${detail}). Nothing was changed.`,
  rejected: (where, detail) => `${where} rejects this user (${detail}). Nothing was changed.`,
  unsuitable: (_where, detail) => detail,
  not_migrated: (_where, detail) => `${detail}.`,
}

const REMEDY: Readonly<Record<StoreFailure, string>> = {
  full: 'Free some space on it, and try again.',
  locked: 'Close the file there (a shell, a backup, a viewer), and try again.',
  read_only:
    'Give this account write access to the file and its folder, or set BONDED_DATABASE_URL to another file.',
  cannot_open:
    'Give this account read and write access to the file and its folder, where SQLite stores two more files, or set BONDED_DATABASE_URL to another file.',
  not_a_database: 'Set BONDED_DATABASE_URL to another file, or move this one away.',
  damaged:
    'Restore a backup, or copy the file and recover what is readable: sqlite3 copy.db .recover | sqlite3 new.db.',
  input_output: 'Check the disk and the system log first, and make a copy of the file.',
  unreachable:
    'Check that the server runs, and the host, port and certificate in BONDED_DATABASE_URL.',
  busy: 'Check the load and the connections of the server, and try again.',
  rejected:
    'Check the user, the password and the database in BONDED_DATABASE_URL. The removal of a tenant needs the role that owns the database.',
  unsuitable: 'Nothing was changed.',
  not_migrated: 'Nothing was changed.',
}

/** What differs on PostgreSQL, where the operator repairs a server and not a file. */
const ON_SERVER: Readonly<
  Partial<Record<StoreFailure, (where: string, detail: string) => string>>
> = {
  locked: (where, detail) =>
    `Another transaction on ${where} was in the way (${detail}). Nothing was changed. Try again. If it fails again, find the sessions that hold a lock with pg_blocking_pids() over pg_stat_activity.`,
  read_only: (where, detail) =>
    `${where} accepts no writes (${detail}). Nothing was changed. Set BONDED_DATABASE_URL to the primary, or wait until it is one.`,
  damaged: (where, detail) =>
    `The server found damaged data in ${where} (${detail}). Read its log, and restore a backup.`,
  input_output: (where, detail) =>
    `The server could not read or write its files of ${where} (${detail}). Check its disk and its log.`,
}
