import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import type { RootKey } from '../../../core/src/domain/root-keys.ts'
import type { PostgresSettings } from '../../src/postgres/server/connections.ts'
import { parseDatabaseUrl } from '../../src/postgres/server/database-url.ts'
import { type OpenStore, openPostgres, withConnections } from '../../src/postgres/open-postgres.ts'
import { checksum } from '../../src/migrations/migrate.ts'
import { MIGRATIONS } from '../../src/migrations/migrations.ts'
import { migratePostgres } from '../../src/postgres/postgres-migrate.ts'

/** The root key of the protocol's worked examples. */
export const ROOT_KEY = { id: 'k1', bytes: Uint8Array.from({ length: 32 }, (_, index) => index) }
import { oddDefaultsOf } from './odd-settings.ts'
import { dropDatabase, hasDatabase, newDatabase, type PostgresServer, runSql } from './postgres.ts'

/** A PostgreSQL database of one test. */
export interface TestDatabase {
  /** The address for the superuser, who owns the database. */
  readonly url: string
  /** Migrates it, and returns the address for the run-time role. */
  migrated(now: number): Promise<string>
  /** Opens it as a node does, with the run-time role. */
  openStore(now: number, rootKeys?: readonly RootKey[]): Promise<OpenStore>
  drop(): Promise<void>
}

/** The role of all nodes in the tests. It belongs to the server, so several tests create it. */
const RUNTIME_ROLE = 'bonded_runtime'
/** The SQLSTATE of a database whose name exists. */
const DUPLICATE_DATABASE = '42P04'
const CREATE_ROLE = `do $$ begin create role ${RUNTIME_ROLE} login;
  exception when duplicate_object or unique_violation then null; end $$`

/**
 * Creates a database if the tests run on PostgreSQL, with `TEST_STORE=postgres`, or the test asks
 * for it. On a server that the tests do not share, it is empty.
 */
export async function testDatabase(
  onPostgres?: true | PostgresServer,
): Promise<TestDatabase | undefined> {
  if (typeof onPostgres === 'object') return databaseAt(await onPostgres.newDatabase())
  return onPostgres || process.env.TEST_STORE === 'postgres' ? migratedDatabase() : undefined
}

/** Creates an empty PostgreSQL database, with odd defaults for its sessions. */
export async function postgresDatabase(): Promise<TestDatabase> {
  return databaseAt(await newDatabase())
}

/** Creates a PostgreSQL database that every migration was applied to. */
export async function migratedDatabase(): Promise<TestDatabase> {
  template ??= migratedTemplate()
  return databaseAt(await newDatabase(await template))
}

let template: Promise<string> | undefined

/** Returns the name of a migrated database. All processes that use the server share it. */
async function migratedTemplate(): Promise<string> {
  const steps = checksum(MIGRATIONS.flatMap(({ statements }) => statements))
  const name = `migrated_${steps.slice(0, 16)}`
  const made = await postgresDatabase()
  if (await hasDatabase(made.url, name)) {
    await made.drop()
    return name
  }
  await made.migrated(0)
  const rename = `alter database ${new URL(made.url).pathname.slice(1)} rename to ${name}`
  await runSql(new URL('/postgres', made.url).href, rename).catch((failure: { code?: string }) => {
    // Another process was faster.
    if (failure.code !== DUPLICATE_DATABASE) throw failure
    return made.drop()
  })
  return name
}

/** For tests of other things than these limits: other work on the machine lengthens each wait. */
const ON_BUSY_MACHINE = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 }

async function databaseAt(url: string): Promise<TestDatabase> {
  await runSql(url, `${CREATE_ROLE};${oddDefaultsOf(new URL(url).pathname.slice(1))}`)
  const migrated = async (now: number) => {
    await withConnections(settingsOf(url), (connections) =>
      migratePostgres(connections, now, { runtimeRole: RUNTIME_ROLE }),
    )
    const runtimeUrl = new URL(url)
    runtimeUrl.username = RUNTIME_ROLE
    return runtimeUrl.href
  }
  return {
    url,
    migrated,
    openStore: async (now, rootKeys = [ROOT_KEY]) => {
      const settings = settingsOf(await migrated(now), ON_BUSY_MACHINE)
      return openPostgres(settings, { now, idKeys: keyringOf(rootKeys).idKeys })
    },
    drop: () => dropDatabase(url),
  }
}

/** The settings of a node on the database, with short time-outs. */
export function settingsOf(url: string, given: Partial<PostgresSettings> = {}): PostgresSettings {
  const address = parseDatabaseUrl(url)
  if (address === undefined) throw new Error(`not a database URL: ${url}`)
  return {
    address,
    poolSize: 6,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 2_000,
    prepared: true,
    ...given,
  }
}
