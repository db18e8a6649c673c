import type { StoreError, StoreFailure } from '../ports/store.ts'

/** What keeps the database from working, and what to do about it. */
export function explainStore({
  trouble,
  where = 'the database',
  message,
  cause,
}: StoreError): string {
  const detail = cause instanceof Error ? cause.message : message
  return trouble === undefined ? message : `${WHAT[trouble](where, detail)} ${REMEDY[trouble]}`
}

const WHAT: Readonly<Record<StoreFailure, (where: string, detail: string) => string>> = {
  full: (where) => `The disk that holds ${where} is full. Nothing was changed.`,
  locked: (where) =>
    `${where} is locked: another program has it open and is writing. Nothing was changed.`,
  read_only: (where) => `${where} is read-only. Nothing was changed.`,
  cannot_open: (where) => `${where} cannot be opened. Nothing was changed.`,
  not_a_database: (where) => `${where} is not a SQLite database. It was left as it is.`,
  damaged: (where, detail) => `${where} is damaged (${detail}). It was left as it is.`,
  input_output: (where, detail) => `Reading or writing ${where} failed (${detail}).`,
}

const REMEDY: Readonly<Record<StoreFailure, string>> = {
  full: 'Make room on it, and try again.',
  locked: 'Close it there (a shell, a backup, a viewer), and try again.',
  read_only:
    'Let this user write the file and its folder, or name another file in BONDED_DATABASE_URL.',
  cannot_open:
    'Let this user read and write the file and its folder, where SQLite keeps two more files beside it, or name another in BONDED_DATABASE_URL.',
  not_a_database: 'Name another file in BONDED_DATABASE_URL, or move this one away.',
  damaged:
    'Restore a backup, or copy it and let sqlite3 save what can be read: sqlite3 copy.db .recover | sqlite3 new.db.',
  input_output:
    'Look at the disk and at the system’s log before anything else, and take a copy of the file.',
}
