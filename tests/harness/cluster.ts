import { randomBytes } from 'node:crypto'
import {
  type PostgresOptions,
  type PostgresServer,
  startPostgres,
} from '../../packages/store/tests/servers/postgres.ts'
import { machine, type Machine, type ServingProcess } from './process.ts'
import { startProxy, type TcpProxy } from '../../packages/store/tests/servers/tcp-proxy.ts'

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
  /** Starts one more node, which joins `nodes`. Its environment overrides that of the others. */
  addNode(env?: Readonly<Record<string, string>>): Promise<ClusterNode>
}

export interface ClusterOptions {
  /** How many nodes start with it. SQLite serves one. */
  readonly nodes: number
  readonly store: 'sqlite' | 'postgres'
  /** The environment of the first node, for faults of one node. */
  readonly envOfFirst?: Readonly<Record<string, string>>
  /** The environment of every node. */
  readonly envOfAll?: Readonly<Record<string, string>>
  /** An existing PostgreSQL database, which the nodes reach without a proxy. */
  readonly databaseUrl?: string
  /** Settings of the PostgreSQL server. */
  readonly postgres?: Readonly<Record<string, string>>
  /** Where its data are, and its environment. */
  readonly postgresOptions?: PostgresOptions | undefined
}

/** All nodes have the same root key, as in production. */
const ENVIRONMENT = {
  BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  BONDED_RATE_LIMITS: 'off',
  BONDED_CONNECTION_LIMITS: 'total=50000,network=40000',
}

/** Starts nodes on one new database. Each reaches PostgreSQL through a proxy of its own. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const parts = new AsyncDisposableStack()
  const starting = new Set<Promise<ClusterNode>>()
  const end = async () => {
    // A node that starts while the cluster ends would keep this process alive.
    await Promise.allSettled(starting)
    await parts.disposeAsync()
  }
  try {
    return await startParts(options, { parts, starting, end })
  } catch (failure) {
    await end()
    throw failure
  }
}

async function startParts(
  options: ClusterOptions,
  {
    parts,
    starting,
    end,
  }: {
    parts: AsyncDisposableStack
    starting: Set<Promise<ClusterNode>>
    end: () => Promise<void>
  },
): Promise<Cluster> {
  const needsServer = options.store === 'postgres' && options.databaseUrl === undefined
  const server = needsServer
    ? await startPostgres(options.postgres, options.postgresOptions)
    : undefined
  if (server !== undefined) parts.use(server)
  const postgresUrl = options.databaseUrl ?? (await server?.newDatabase())
  const on = (databaseUrl: string | undefined, own: Readonly<Record<string, string>> = {}) => {
    const url = databaseUrl === undefined ? {} : { BONDED_DATABASE_URL: databaseUrl }
    const env = { ...ENVIRONMENT, ...options.envOfAll, ...url, ...own }
    return parts.use(machine({ env }))
  }
  const operator = on(postgresUrl)
  const databaseUrl = postgresUrl ?? `sqlite:${operator.databaseFile}`
  const startOne = async (own?: Readonly<Record<string, string>>) => {
    if (server === undefined) return parts.use(await startNode(on(databaseUrl, own), undefined))
    const proxy = parts.use(await startProxy(server.port))
    const through = new URL(databaseUrl)
    through.port = String(proxy.port)
    return parts.use(await startNode(on(through.href, own), proxy))
  }
  const start = (own?: Readonly<Record<string, string>>) => {
    const node = startOne(own)
    starting.add(node)
    return node
  }
  const nodes = await Promise.all(
    Array.from({ length: options.nodes }, (_, index) =>
      start(index === 0 ? options.envOfFirst : {}),
    ),
  )
  return {
    nodes,
    operator,
    databaseUrl,
    server,
    async addNode(own) {
      const node = await start(own)
      nodes.push(node)
      return node
    },
    [Symbol.asyncDispose]: end,
  }
}

async function startNode(
  on: Machine,
  proxy: TcpProxy | undefined,
): Promise<ClusterNode & AsyncDisposable> {
  let running = await on.serve()
  let ended = false
  let restarted: Promise<unknown> | undefined
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
      restarted = on.serve().then(async (served) => {
        running = served
        // A process that starts while the cluster ends would keep the test's process alive.
        if (ended) await served[Symbol.asyncDispose]()
      })
      await restarted
    },
    pause: () => void running.child.kill('SIGSTOP'),
    resume: () => void running.child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      ended = true
      // SIGKILL also ends a process that is stopped.
      await running[Symbol.asyncDispose]()
      await restarted?.catch(() => undefined)
    },
  }
}
