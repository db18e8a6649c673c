import type { Unreadiness } from '@bonded/contract'
import { StoreError } from '../../../ports/store.ts'
import { MIGRATIONS } from '../migrations.ts'
import type { Row } from '../statement.ts'
import type { Connection, Connections } from './connections.ts'

/** The oldest version that the PostgreSQL project still maintains. */
const MIN_VERSION = 14

const SERVER = `select current_setting('server_version_num') as version,
  pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') as read_only,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('server_encoding') as encoding,
  current_setting('statement_timeout') as statement_timeout`

/**
 * Checks that what the server acknowledges is durable, and that it can be written.
 *
 * @throws {StoreError} with the fix
 */
export async function checkServer(connections: Connections): Promise<void> {
  await checkPrepared(connections)
  const problem = problemOf(await serverOf(connections))
  if (problem === undefined) return
  const where = connections.settings.address.shown
  throw new StoreError(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
}

/**
 * Prepares one statement on two connections. Behind a pooler that does not keep them apart, the
 * second one fails, here rather than in requests.
 */
async function checkPrepared(connections: Connections): Promise<void> {
  const [one, other] = [await connections.take(), await connections.take()]
  try {
    for (const connection of [one, other])
      await connection.run({ text: 'select $1::text as prepared', values: ['yes'] })
  } finally {
    one.release()
    other.release()
  }
}

/** What prevents the database from working now. Never rejects. */
export async function findUnreadiness(connections: Connections): Promise<readonly Unreadiness[]> {
  try {
    const found: Unreadiness[] = []
    const { applied, unknown } = await using(connections, latestSteps)
    if (applied < (MIGRATIONS.at(-1)?.number ?? 0)) found.push('migrations_pending')
    if (unknown > 0) found.push('migrations_unknown')
    if (problemOf(await serverOf(connections)) !== undefined) found.push('store_unwritable')
    return found
  } catch {
    return ['store_unreadable']
  }
}

async function latestSteps(connection: Connection): Promise<{ applied: number; unknown: number }> {
  const known = MIGRATIONS.at(-1)?.number ?? 0
  const [row] = (await connection.run({
    text: `select count(*) filter (where number <= $1) as applied,
      count(*) filter (where number > $1 and not expands) as unknown from migration`,
    values: [known],
  })) as readonly Row[]
  return { applied: Number(row?.applied), unknown: Number(row?.unknown) }
}

function problemOf(server: Row): string | undefined {
  const major = Math.floor(Number(server.version) / 10_000)
  const says = (setting: string) => String(server[setting])
  if (major < MIN_VERSION)
    return `it is PostgreSQL ${major}. Upgrade the server to ${MIN_VERSION} or later.`
  if (server.standby)
    return 'it is a standby, which only reads. Set BONDED_DATABASE_URL to the primary server.'
  if (says('read_only') === 'on')
    return 'default_transaction_read_only is on. Turn it off for this user: alter role <user> set default_transaction_read_only = off.'
  if (says('synchronous_commit') === 'off')
    return 'synchronous_commit is off, so a crash loses sessions that were acknowledged. Turn it on for this user: alter role <user> set synchronous_commit = on.'
  for (const setting of ['fsync', 'full_page_writes'])
    if (says(setting) !== 'on')
      return `${setting} is off, so a crash loses or damages data. Turn it on in postgresql.conf and restart the server.`
  if (says('encoding') !== 'UTF8')
    return `its encoding is ${says('encoding')}. Create the database anew: create database <name> encoding 'UTF8' template template0.`
  if (says('statement_timeout') === '0')
    return 'no statement_timeout is in effect. A pooler ignores the one of the service; set it for this user: alter role <user> set statement_timeout = 5000.'
  return undefined
}

function serverOf(connections: Connections): Promise<Row> {
  return using(connections, async (connection) => {
    const [row] = (await connection.run({ text: SERVER, values: [] })) as readonly Row[]
    return row ?? {}
  })
}

/** Runs `work` on a connection of the pool. */
async function using<T>(
  connections: Connections,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connections.take()
  try {
    return await work(connection)
  } finally {
    connection.release()
  }
}
