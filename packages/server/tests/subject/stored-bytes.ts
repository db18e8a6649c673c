import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Harness } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Runs SQL on the database of a harness, past the service. */
export async function sql(h: Harness, text: string): Promise<Rows> {
  if (h.databaseUrl !== undefined) return runSql(h.databaseUrl, text)
  using database = new DatabaseSync(h.databaseFile)
  return database.prepare(text).all()
}

export async function tablesOf(h: Harness): Promise<readonly string[]> {
  const found = await sql(
    h,
    h.databaseUrl === undefined
      ? `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
      : `select relname as name from pg_class where relkind = 'r'
         and relnamespace = current_schema()::regnamespace`,
  )
  return found.map(({ name }) => String(name)).toSorted()
}

/** Every row of every table as text, for a comparison. */
export async function dump(h: Harness): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = new Map<string, readonly string[]>()
  for (const table of await tablesOf(h))
    rows.set(
      table,
      (await sql(h, `select * from ${table}`)).map((each) => JSON.stringify(each)).toSorted(),
    )
  return rows
}

/** Lets PostgreSQL store long values uncompressed, so that a search of its files finds them. */
export async function storeUncompressed(h: Harness): Promise<void> {
  if (h.databaseUrl === undefined) return
  const columns = await sql(
    h,
    `select table_name, column_name from information_schema.columns
     where table_schema = current_schema() and data_type in ('text', 'bytea')`,
  )
  for (const { table_name, column_name } of columns)
    await sql(
      h,
      `alter table ${String(table_name)} alter ${String(column_name)} set storage external`,
    )
}

/**
 * The bytes of the files of the database: SQLite's file with its write-ahead log, or every file of
 * the database of PostgreSQL, after a checkpoint.
 */
export async function databaseBytes(h: Harness): Promise<readonly Buffer[]> {
  if (h.databaseUrl === undefined)
    return ['', '-wal'].map((suffix) => readFileSync(h.databaseFile + suffix))
  await sql(h, 'checkpoint')
  const [place] = await sql(
    h,
    `select current_setting('data_directory') as folder, oid from pg_database
     where datname = current_database()`,
  )
  return filesIn(join(String(place?.folder), 'base', String(place?.oid)))
}

/** The bytes of PostgreSQL's write-ahead log: of every segment, also of those for later use. */
export async function walBytes(h: Harness): Promise<readonly Buffer[]> {
  const [place] = await sql(h, `select current_setting('data_directory') as folder`)
  return filesIn(join(String(place?.folder), 'pg_wal'))
}

function filesIn(folder: string): readonly Buffer[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path))
}

/** The forms in which a value can be stored: its bytes, in JSON, and in base64url at any offset. */
function formsOf(value: string | Uint8Array): readonly Buffer[] {
  const bytes = Buffer.from(value)
  const encoded = [0, 1, 2].map((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    const whole = padded.subarray(0, padded.length - (padded.length % 3)).toString('base64url')
    return Buffer.from(offset === 0 ? whole : whole.slice(4))
  })
  const inJson = JSON.stringify(bytes.toString()).slice(1, -1)
  return [bytes, Buffer.from(inJson), Buffer.from(bytes.toString('base64url')), ...encoded]
}

/** The values that are in the bytes, in any form. */
export function foundIn(
  files: readonly Uint8Array[],
  values: ReadonlyMap<string, string | Uint8Array>,
): readonly string[] {
  return [...values]
    .filter(([, value]) =>
      formsOf(value).some((form) =>
        files.some((file) =>
          Buffer.from(file.buffer, file.byteOffset, file.byteLength).includes(form),
        ),
      ),
    )
    .map(([name]) => name)
}
