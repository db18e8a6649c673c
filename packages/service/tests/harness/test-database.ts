import { keyringOf } from '../../src/adapters/keys/keyring.ts'
import type { RootKey } from '../../src/adapters/keys/root-keys.ts'
import type { PostgresSettings } from '../../src/adapters/sql/postgres/server/connections.ts'
import { parseDatabaseUrl } from '../../src/adapters/sql/postgres/server/database-url.ts'
import { type OpenStore, openPostgres } from '../../src/adapters/sql/postgres/open-postgres.ts'
import { ROOT_KEY } from './harness.ts'
import { dropDatabase, newDatabase } from './postgres.ts'

/** A PostgreSQL database of one test. */
export interface TestDatabase {
  readonly url: string
  /** Opens it as a node does. */
  openStore(now: number, rootKeys?: readonly RootKey[]): Promise<OpenStore>
  drop(): Promise<void>
}

/** Creates a database if the tests run on PostgreSQL: with `TEST_STORE=postgres`. */
export async function testDatabase(): Promise<TestDatabase | undefined> {
  if (process.env.TEST_STORE !== 'postgres') return undefined
  return postgresDatabase()
}

/** Creates a PostgreSQL database. */
export async function postgresDatabase(): Promise<TestDatabase> {
  const url = await newDatabase()
  return {
    url,
    openStore: (now, rootKeys = [ROOT_KEY]) =>
      openPostgres(settingsOf(url), { now, idKeys: keyringOf(rootKeys).idKeys }),
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
