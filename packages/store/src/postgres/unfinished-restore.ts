import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../statement.ts'
import type { Connection, Connections } from './server/connections.ts'

/** Exists from before the first statement of a restore until its live sessions have ended. */
const TABLE = 'unfinished_restore'
/** Names the lock that a restore takes for all of its time: "restore" in ASCII. */
const LOCK = '32199655024357989'
/** What the programs of a restore call themselves. They can outlive the command. */
export const RESTORE_APPLICATION = 'bonded restore'

const FIND = `select to_regclass('${TABLE}') is not null as found`
const RELATIONS = `select count(*) as relations from pg_class
  join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = any (current_schemas(false))`
/** Waits for the end of each. */
const END_PROGRAMS = `select pg_terminate_backend(pid, 3000) from pg_stat_activity
  where datname = current_database() and application_name = '${RESTORE_APPLICATION}'
    and pid <> pg_backend_pid()`
/** The database was empty when the mark was made, so everything beside it is of the restore. */
const CLEAR = `do $$ declare name text; begin
  for name in select format('%I.%I', nspname, relname) from pg_class
      join pg_namespace on pg_namespace.oid = relnamespace
      where nspname = any (current_schemas(false)) and relkind in ('r', 'p')
        and relname <> '${TABLE}' loop
    execute 'drop table ' || name || ' cascade';
  end loop; end $$`

/**
 * Rejects a database whose restore did not finish: its sessions that were live at the time of the
 * backup may still be live, and a completed one could be completed a second time.
 *
 * @throws {StoreError} with the fix
 */
export async function rejectUnfinishedRestore(connections: Connections): Promise<void> {
  const { shown } = connections.settings.address
  if (!(await connections.run((connection) => one(connection, FIND)))?.found) return
  throw new StoreError(
    `${shown} cannot be used: a restore into it did not finish, so sessions of the backup may be live that were completed since. Run bonded restore again on this database, or use another one.`,
    { kind: 'unsuitable', where: shown },
  )
}

/**
 * Restores into a database that is empty, or that an interrupted restore has marked. It is marked
 * until `restore` has succeeded, so that no node starts on it. What an interrupted restore has
 * left is dropped first, and its programs ended.
 *
 * @param connections hold the lock that keeps two restores apart, until they are closed
 * @returns what `restore` returned, or why it was not called
 */
export async function markedWhile<T>(
  connections: Connections,
  restore: () => Promise<T>,
): Promise<{ readonly result: T } | 'busy' | 'not_empty'> {
  const connection = await connections.take()
  const run = (text: string) => one(connection, text)
  try {
    if (!(await run(`select pg_try_advisory_lock(${LOCK}) as locked`))?.locked) return 'busy'
    if ((await run(FIND))?.found) {
      await run(END_PROGRAMS)
      await run(CLEAR)
    } else if (Number((await run(RELATIONS))?.relations) > 0) return 'not_empty'
    else await run(`create table ${TABLE} (since timestamptz not null default now())`)
    const result = await restore()
    await run(`drop table ${TABLE}`)
    return { result }
  } finally {
    connection.release()
  }
}

async function one(connection: Connection, text: string): Promise<Row | undefined> {
  const [row] = (await connection.run({ text, values: [] })) as readonly Row[]
  return row
}
