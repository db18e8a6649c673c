import { keyringOf } from '../../packages/server/src/adapters/keys/keyring.ts'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import type { PostgresSettings } from '../../packages/store/src/postgres/server/connections.ts'
import { parseDatabaseUrl } from '../../packages/store/src/postgres/server/database-url.ts'
import {
  type OpenStore,
  openPostgres,
  withConnections,
} from '../../packages/store/src/postgres/open-postgres.ts'
import { migratePostgres } from '../../packages/store/src/postgres/postgres-migrate.ts'

/** The root key of the protocol's worked examples. */
export const ROOT_KEY = { id: 'k1', bytes: Uint8Array.from({ length: 32 }, (_, index) => index) }
import { oddDefaultsOf } from './odd-settings.ts'
import { dropDatabase, newDatabase, runSql } from './postgres.ts'

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
const CREATE_ROLE = `do $$ begin create role ${RUNTIME_ROLE} login;
  exception when duplicate_object or unique_violation then null; end $$`

/** Creates a database if the tests run on PostgreSQL: with `TEST_STORE=postgres`. */
export async function testDatabase(): Promise<TestDatabase | undefined> {
  if (process.env.TEST_STORE !== 'postgres') return undefined
  return postgresDatabase()
}

/** Creates a PostgreSQL database, with odd defaults for its sessions. */
export async function postgresDatabase(): Promise<TestDatabase> {
  const url = await newDatabase()
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
    openStore: async (now, rootKeys = [ROOT_KEY]) =>
      openPostgres(settingsOf(await migrated(now)), { now, idKeys: keyringOf(rootKeys).idKeys }),
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
