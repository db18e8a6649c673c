import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { RootKey } from '../packages/core/src/domain/root-keys.ts'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { parseDatabaseUrl } from '../packages/store/src/postgres/server/database-url.ts'
import { type OpenStore, openPostgres } from '../packages/store/src/postgres/open-postgres.ts'
import { type PostgresServer, startPostgres } from '../packages/store/tests/servers/postgres.ts'

/** The service's defaults. */
const SETTINGS = { poolSize: 10, statementTimeoutMs: 5_000, lockTimeoutMs: 2_000, prepared: true }
/** Those of a server in production, where the tests have longer intervals. */
const SERVER_SETTINGS = {
  autovacuum_naptime: '1min',
  checkpoint_timeout: '5min',
  max_wal_size: '1GB',
  shared_buffers: '128MB',
}
const NANOSECONDS_A_MICROSECOND = 1_000

/** What a node reads from its environment: its database, and whether another node is the first. */
interface NodeSettings {
  readonly databaseUrl: string
  readonly rootKey: string
  readonly joins: boolean
}

const VARIABLE = 'BENCH_POSTGRES_NODE'

/** How a node of this process opens its store; undefined if it has a SQLite file. */
export interface PostgresNode {
  readonly openStore: OpenStore
  readonly rootKeys: readonly RootKey[]
  /** Whether another node has created the tenants. */
  readonly joins: boolean
}

/** In a service's process: opens the database that the parent names. */
export async function postgresNode(now: number): Promise<PostgresNode | undefined> {
  const given = process.env[VARIABLE]
  if (given === undefined) return undefined
  const { databaseUrl, rootKey, joins } = JSON.parse(given) as NodeSettings
  const address = parseDatabaseUrl(databaseUrl)
  if (address === undefined) throw new Error(`${VARIABLE} names no database`)
  const rootKeys = [{ id: 'k1', bytes: Buffer.from(rootKey, 'base64url') }]
  const { idKeys } = keyringOf(rootKeys)
  return {
    openStore: await openPostgres({ ...SETTINGS, address }, { now, idKeys }),
    rootKeys,
    joins,
  }
}

/** In the parent: a PostgreSQL server on the disk, for the nodes of one variant after another. */
export class BenchPostgres {
  readonly server: PostgresServer

  private constructor(server: PostgresServer) {
    this.server = server
  }

  static async start(): Promise<BenchPostgres> {
    return new BenchPostgres(await startPostgres(SERVER_SETTINGS, { onDisk: true }))
  }

  /** The environments of the nodes of a new database, that of the first one first. */
  async environments(nodes: number): Promise<readonly Record<string, string>[]> {
    const databaseUrl = await this.server.newDatabase()
    const rootKey = randomBytes(32).toString('base64url')
    return Array.from({ length: nodes }, (_, node) => ({
      [VARIABLE]: JSON.stringify({ databaseUrl, rootKey, joins: node > 0 } satisfies NodeSettings),
    }))
  }

  /** Microseconds of CPU time of the server's processes that now run. Linux only. */
  cpuMicros(): number {
    const main = this.server.pid()
    let nanoseconds = 0
    for (const entry of readdirSync('/proc')) {
      if (!/^\d+$/.test(entry)) continue
      try {
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${entry}/status`, 'utf8'))?.[1]
        if (Number(entry) === main || Number(parent) === main)
          nanoseconds += Number(readFileSync(`/proc/${entry}/schedstat`, 'utf8').split(' ', 1)[0])
      } catch {
        // The process has ended in between.
      }
    }
    return nanoseconds / NANOSECONDS_A_MICROSECOND
  }

  stop(): Promise<void> {
    return this.server.stop('fast')
  }
}
