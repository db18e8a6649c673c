import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { type PostgresServer, startPostgres } from './postgres.ts'
import { machine, type Machine, type ServingProcess } from './process.ts'
import { startProxy, type TcpProxy } from './tcp-proxy.ts'

/** One `bonded serve` process of a cluster. It keeps its place when it is restarted. */
export interface ClusterNode {
  /** Its address; another one after a restart. */
  readonly origin: string
  readonly process: ServingProcess
  /** Its connection to the database; undefined for SQLite. */
  readonly proxy: TcpProxy | undefined
  kill(): Promise<void>
  restart(): Promise<void>
  /** SIGSTOP: the process keeps its connections and does nothing. */
  pause(): void
  resume(): void
}

export interface Cluster extends AsyncDisposable {
  readonly nodes: readonly ClusterNode[]
  /** Runs commands on the same database. */
  readonly operator: Machine
  /** The value of BONDED_DATABASE_URL, past the proxies. */
  readonly databaseUrl: string
  /** Undefined for SQLite. */
  readonly server: PostgresServer | undefined
}

export interface ClusterOptions {
  /** SQLite serves one node. */
  readonly nodes: number
  readonly store: 'sqlite' | 'postgres'
  /** The environment of the first node, for faults of one node. */
  readonly envOfFirst?: Readonly<Record<string, string>>
  /** Settings of the PostgreSQL server. */
  readonly postgres?: Readonly<Record<string, string>>
}

/** All nodes have the same root key, as in production. */
const ENVIRONMENT = {
  BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  BONDED_RATE_LIMITS: 'off',
  BONDED_CONNECTION_LIMITS: 'total=50000,network=40000',
}

/** Starts nodes on one new database. Each reaches PostgreSQL through a proxy of its own. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const server = options.store === 'postgres' ? await startPostgres(options.postgres) : undefined
  const machines: Machine[] = []
  const on = (databaseUrl: string | undefined, own: Readonly<Record<string, string>> = {}) => {
    const env = {
      ...ENVIRONMENT,
      ...(databaseUrl === undefined ? {} : { BONDED_DATABASE_URL: databaseUrl }),
      ...own,
    }
    const made = machine({ env })
    machines.push(made)
    return made
  }
  const postgresUrl = await server?.newDatabase()
  const operator = on(postgresUrl)
  const databaseUrl = postgresUrl ?? `sqlite:${operator.databaseFile}`
  const nodes = await Promise.all(
    Array.from({ length: options.nodes }, async (_, index) => {
      const own = index === 0 ? options.envOfFirst : {}
      if (server === undefined) return startNode(on(databaseUrl, own), undefined)
      const proxy = await startProxy(server.port)
      const through = new URL(databaseUrl)
      through.port = String(proxy.port)
      return startNode(on(through.href, own), proxy)
    }),
  )
  return {
    nodes,
    operator,
    databaseUrl,
    server,
    async [Symbol.asyncDispose]() {
      for (const node of nodes) {
        node.resume()
        await node.process[Symbol.asyncDispose]()
        await node.proxy?.[Symbol.asyncDispose]()
      }
      await server?.stop('immediate')
      for (const { folder } of machines) rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startNode(on: Machine, proxy: TcpProxy | undefined): Promise<ClusterNode> {
  let running = await on.serve()
  return {
    get origin() {
      return running.origin
    },
    get process() {
      return running
    },
    proxy,
    async kill() {
      await running.stop('SIGKILL')
    },
    async restart() {
      running = await on.serve()
    },
    pause: () => void running.child.kill('SIGSTOP'),
    resume: () => void running.child.kill('SIGCONT'),
  }
}
