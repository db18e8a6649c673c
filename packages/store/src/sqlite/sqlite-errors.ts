import { StoreError, type StoreFailure } from '@bonded/core/ports/store'

/** The failures of a file. */
type FileFailure = Exclude<
  StoreFailure,
  'unreachable' | 'busy' | 'rejected' | 'unsuitable' | 'not_migrated'
>

/**
 * SQLite's primary result codes that report an outage. All others report a defect of the program.
 */
const FAILURE_BY_CODE: Readonly<Record<number, FileFailure>> = {
  5: 'locked', // BUSY
  6: 'locked', // LOCKED
  8: 'read_only',
  10: 'input_output',
  11: 'damaged', // CORRUPT
  13: 'full',
  14: 'cannot_open',
  15: 'locked', // PROTOCOL: the lock of the write-ahead log was not available
  26: 'not_a_database',
}
/** IOERR_SHMSIZE: no room for the file beside the database. */
const NO_ROOM_BESIDE = 4874
/** Extended codes carry the primary one in their low byte. */
const PRIMARY = 0xff

/** Classifies an error of SQLite as an outage; undefined if it is a defect of the program. */
export function classifyError(cause: unknown): FileFailure | undefined {
  if (!(cause instanceof Error) || !('errcode' in cause) || typeof cause.errcode !== 'number')
    return undefined
  return cause.errcode === NO_ROOM_BESIDE ? 'full' : FAILURE_BY_CODE[cause.errcode & PRIMARY]
}

const TEXT: Readonly<Record<FileFailure, string>> = {
  full: 'the disk is full',
  locked: 'another program holds the database locked',
  read_only: 'the database is read-only',
  cannot_open: 'the database cannot be opened',
  not_a_database: 'the file is not a database',
  damaged: 'the database is damaged',
  input_output: 'the disk failed',
}

/** Converts an outage into a `StoreError` and returns any other error unchanged. */
export function asStoreError(
  cause: unknown,
  { to, where }: { to: 'open' | 'read' | 'write'; where: string },
): unknown {
  const kind = classifyError(cause)
  return kind === undefined
    ? cause
    : new StoreError(`the store refused to ${to}: ${TEXT[kind]}`, { kind, where, cause })
}
