import type { Unreadiness } from '@bonded/contract'
import { StoreError } from '@bonded/core/ports/store'
import { MIGRATIONS } from '../../migrations/migrations.ts'
import type { Row } from '../../statement.ts'
import type { Connection, Connections } from './connections.ts'
import { problemOf, SERVER_STATE, TIME } from './server-state.ts'

/**
 * Checks a server at the start. Each connection has checked that the server can be written, and
 * that what it acknowledges is durable. This prepares one statement on two of them. Behind a pooler
 * that does not keep them apart, the second one fails, here rather than in requests.
 *
 * @throws {StoreError} with the fix
 */
export async function checkServer(connections: Connections): Promise<void> {
  const prepare = { text: 'select $1::text as prepared', values: ['yes'] }
  // Each goes back also when the other one fails: the end of the pool waits for them.
  await connections.run((one) =>
    connections.run(async (other) => {
      for (const connection of [one, other]) await connection.run(prepare)
    }),
  )
}

/** What prevents the database from working now. Never rejects. */
export async function findUnreadiness(connections: Connections): Promise<readonly Unreadiness[]> {
  try {
    const found: Unreadiness[] = []
    const { applied, unknown } = await connections.run(latestSteps)
    if (applied < (MIGRATIONS.at(-1)?.number ?? 0)) found.push('migrations_pending')
    if (unknown > 0) found.push('migrations_unknown')
    if (problemOf(await serverOf(connections)) !== undefined) found.push('store_unwritable')
    return found
  } catch (failure) {
    const isUnsuitable = failure instanceof StoreError && failure.kind === 'unsuitable'
    return [isUnsuitable ? 'store_unwritable' : 'store_unreadable']
  }
}

/** The time of the server, as {@link TIME} returns it, in milliseconds since the epoch. */
export async function timeOf(connections: Connections): Promise<number> {
  return connections.run(async (connection) => {
    const [row] = (await connection.run({ text: `select ${TIME}`, values: [] })) as readonly Row[]
    return Number(row?.time)
  })
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

function serverOf(connections: Connections): Promise<Row> {
  return connections.run(async (connection) => {
    const [row] = (await connection.run({ text: SERVER_STATE, values: [] })) as readonly Row[]
    return row ?? {}
  })
}
