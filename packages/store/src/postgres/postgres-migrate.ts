import { setTimeout } from 'node:timers/promises'
import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../statement.ts'
import { checksum, MigrationError, type MigrationState } from '../migrations/migrate.ts'
import { MIGRATIONS, type Step } from '../migrations/migrations.ts'
import type { Connection, Connections } from './server/connections.ts'
import { asStoreError } from './postgres-errors.ts'
import { grantRuntimeRights, rejectUnmigrated, schemaRights } from './runtime-rights.ts'

/** Names the lock that nodes take to migrate one after another: "bonded" in ASCII. */
const LOCK = '108170755826020'
/** A node waits this long for another one that migrates. A step may run for a long time. */
const BEGIN = `begin; set local lock_timeout = '60s'; set local statement_timeout = '10min';
  select set_config(name, '0', true) from pg_settings where name = 'transaction_timeout'`
/**
 * A step waits this long for the calls that use a table, and then begins anew. It is shorter than
 * the second after which PostgreSQL ends one side of a deadlock, which could be a call.
 */
const LOCK_TIMEOUT = `set local lock_timeout = '100ms'`
/** What steps change, with the lock that they need. Calls read a table whose rows are rewritten. */
const LOCKS = [
  {
    mode: 'access exclusive',
    changed: /(?<=\balter table |\bdrop table |^create (?:unique )?index \w+\s+on )\w+/g,
  },
  { mode: 'share row exclusive', changed: /(?<=^update |^delete from )\w+/g },
]
/** How long the steps are begun anew, and the pause before. */
const RETRY_MS = 60_000
const PAUSE_MS = 200
const TABLE = `create table if not exists migration (number bigint primary key, name text not null,
  checksum text not null, applied_at bigint not null, expands boolean not null)`

/**
 * Migrates the database to the schema of this program. It applies all missing steps or none. Of
 * several nodes that start at once, one migrates and the others wait. A role that may not change
 * the schema changes nothing.
 *
 * Steps of a newer program are accepted if they only expand the schema. A release removes nothing
 * that the release before it reads, so two neighboring versions can run together.
 *
 * @param options.runtimeRole a role that gets the rights that nodes need, and no others
 * @returns the steps that it applied
 * @throws {MigrationError} if a newer program changed the schema in another way, or a released
 *   step was changed
 * @throws {StoreError} if the database cannot be reached or changed, or if steps or rights are
 *   missing that this role may not add
 */
export async function migratePostgres(
  connections: Connections,
  now: number,
  { runtimeRole }: { readonly runtimeRole?: string | undefined } = {},
): Promise<readonly string[]> {
  const until = performance.now() + RETRY_MS
  for (;;) {
    try {
      return await migrateOnce(connections, now, runtimeRole)
    } catch (failure) {
      const isLocked = failure instanceof StoreError && failure.kind === 'locked'
      if (!isLocked || performance.now() > until) throw failure
      await setTimeout(PAUSE_MS)
    }
  }
}

function migrateOnce(
  connections: Connections,
  now: number,
  runtimeRole: string | undefined,
): Promise<readonly string[]> {
  const { shown: where } = connections.settings.address
  return inTransaction(connections, async (connection) => {
    const rights = await schemaRights(connection)
    if (rights.unusable.includes('migration')) rejectUnmigrated(rights, { pending: [], where })
    const states = await statesIn(connection)
    const missing = states.filter(({ appliedAt }) => appliedAt === null)
    const isComplete = missing.length === 0 && rights.unusable.length === 0
    if (isComplete && runtimeRole === undefined) return []
    if (!rights.mayMigrate) {
      const pending = missing.map(({ number }) => String(number))
      rejectUnmigrated(rights, { pending, where })
    }
    await connection.run({ text: `select pg_advisory_xact_lock(${LOCK})`, values: [] })
    const applied = await applyMissing(connection, now)
    if (runtimeRole !== undefined)
      await grantRuntimeRights(connection, { role: runtimeRole, where })
    return applied
  })
}

async function applyMissing(connection: Connection, now: number): Promise<readonly string[]> {
  await connection.run({ text: TABLE, values: [] })
  const applied = await appliedSteps(connection)
  const pending = MIGRATIONS.filter(({ number }) => !applied.has(number))
  await lockTables(connection, pending)
  for (const { number, name, statements, postgres = statements, expands = false } of pending) {
    for (const text of postgres) await connection.run({ text, values: [] })
    await connection.run({
      text: 'insert into migration (number, name, checksum, applied_at, expands) values ($1, $2, $3, $4, $5)',
      values: [number, name, checksum(postgres), now, expands ? 'true' : 'false'],
    })
  }
  return pending.map(({ number, name }) => `${number} ${name}`)
}

/** Locks the tables that the steps change before the first change. */
async function lockTables(connection: Connection, pending: readonly Step[]): Promise<void> {
  const texts = pending.flatMap(({ statements, postgres = statements }) => postgres)
  for (const { mode, changed } of LOCKS) {
    const names = new Set(texts.flatMap((text) => text.match(changed) ?? []))
    const found = (await connection.run({
      text: 'select name from unnest($1::text[]) name where to_regclass(name) is not null',
      values: [`{${[...names].join(',')}}`],
    })) as readonly Row[]
    if (found.length === 0) continue
    const tables = found.map(({ name }) => String(name)).join(', ')
    await connection.run({
      text: `${LOCK_TIMEOUT}; lock table ${tables} in ${mode} mode`,
      values: [],
    })
  }
}

/** Lists every step of this program and when it was applied. Changes nothing. */
export function postgresMigrationStates(
  connections: Connections,
): Promise<readonly MigrationState[]> {
  return inTransaction(connections, statesIn)
}

async function statesIn(connection: Connection): Promise<readonly MigrationState[]> {
  const [table] = (await connection.run({
    text: `select to_regclass('migration') is not null as found`,
    values: [],
  })) as readonly Row[]
  const applied = table?.found ? await appliedSteps(connection) : new Map<number, number>()
  return MIGRATIONS.map(({ number, name }) => {
    const at = applied.get(number)
    return { number, name, appliedAt: at === undefined ? null : new Date(at).toISOString() }
  })
}

async function appliedSteps(connection: Connection): Promise<ReadonlyMap<number, number>> {
  const found = (await connection.run({
    text: 'select number, name, checksum, applied_at, expands from migration order by number',
    values: [],
  })) as readonly Row[]
  const applied = new Map<number, number>()
  for (const row of found) {
    const known = MIGRATIONS.find(({ number }) => number === row.number)
    if (known === undefined) {
      if (row.expands) continue
      throw new MigrationError(
        `The database has step ${String(row.number)} (${String(row.name)}), which this version does not know: a newer version created it`,
      )
    }
    if (checksum(known.postgres ?? known.statements) !== row.checksum)
      throw new MigrationError(
        `Step ${known.number} (${known.name}) differs from the one that was applied to the database`,
      )
    applied.set(known.number, Number(row.applied_at))
  }
  return applied
}

async function inTransaction<T>(
  connections: Connections,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    const connection = await connections.take()
    try {
      await connection.run({ text: BEGIN, values: [] })
      const value = await work(connection)
      await connection.commit()
      connection.release()
      return value
    } catch (failure) {
      await connection.abandon()
      throw failure
    }
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: connections.settings.address.shown })
  }
}
