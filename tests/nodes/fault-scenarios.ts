import assert from 'node:assert/strict'
import type { Cluster } from '../harness/cluster.ts'
import type { PostgresServer } from '../../packages/store/tests/servers/postgres.ts'
import { until } from '../harness/process.ts'
import { smallDisk, type SmallDisk } from '../harness/small-disk.ts'
import { FSYNC, HOUR_MS, jump, pause, type Scenario } from '../pressure/fault-scenarios.ts'

const restore = ({ nodes }: Cluster) => {
  nodes[0]?.proxy?.cut()
  nodes[0]?.proxy?.restore()
}
/** A refused connection is noticed at once. */
const REFUSED_MS = 3_000
/** Longer than a node waits for a response of the database. */
const SILENT_MS = 10_000

/** A new database needs most of it. */
const DISK_MEGABYTES = 128
let disk: SmallDisk | undefined
/** More than a new server has. */
const LOG_FILES = 20

/** How long a server may take to restart by itself. */
const RESTARTS_WITHIN_MS = 5_000
/** Restarts a server that has given up, as systemd or Kubernetes does. */
async function supervise(server: PostgresServer | undefined): Promise<void> {
  if (server === undefined) return
  const responses = () => server.run('select 1').catch(() => undefined)
  await until(responses, RESTARTS_WITHIN_MS).catch(async () => {
    await server.stop('immediate')
    await server.start()
  })
}

export const SCENARIOS: readonly Scenario[] = [
  { name: 'node paused for 30 s on PostgreSQL', store: 'postgres', nodes: 1, ...pause },
  {
    name: 'clock one hour ahead on one of three nodes on PostgreSQL',
    store: 'postgres',
    nodes: 3,
    during: 'works',
    ...jump(HOUR_MS),
  },
  {
    name: 'clock one hour behind on one of three nodes on PostgreSQL',
    store: 'postgres',
    nodes: 3,
    during: 'works',
    ...jump(-HOUR_MS),
  },
  {
    name: 'disk of PostgreSQL full',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: REFUSED_MS,
    skip: () => {
      disk = smallDisk(DISK_MEGABYTES)
      return disk === undefined && 'no right to mount a small disk'
    },
    dispose: () => disk?.[Symbol.dispose](),
    postgres: () => ({ parent: disk?.folder ?? '' }),
    async begin({ server }) {
      disk?.fill()
      // PostgreSQL stops when the log needs a new file and there is no space for it.
      const endFile = () =>
        server?.run('select pg_switch_wal(), pg_logical_emit_message(true, $$$$, $$$$)')
      await assert.rejects(async () => {
        for (let files = 0; files < LOG_FILES; files++) await endFile()
      })
    },
    async end({ server }) {
      disk?.makeRoom()
      await supervise(server)
    },
  },
  {
    name: 'fsync error on PostgreSQL',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: REFUSED_MS,
    skip: FSYNC.skip,
    postgres: (folder) => ({ env: FSYNC.environment(folder) }),
    begin: (_, folder) => FSYNC.begin(folder),
    async end({ server }, folder) {
      FSYNC.end(folder)
      await supervise(server)
    },
  },
  {
    name: 'PostgreSQL stopped with -m immediate',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: REFUSED_MS,
    begin: ({ server }) => server?.stop('immediate'),
    end: ({ server }) => server?.start(),
  },
  {
    name: 'partition: connections to PostgreSQL refused',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: REFUSED_MS,
    begin: ({ nodes }) => nodes[0]?.proxy?.refuse(),
    end: restore,
  },
  {
    name: 'partition: packets to and from PostgreSQL dropped',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: SILENT_MS,
    begin: ({ nodes }) => nodes[0]?.proxy?.stall(),
    end: restore,
  },
  {
    name: 'half-open connection: answers of PostgreSQL lost',
    store: 'postgres',
    nodes: 1,
    during: 'answers 503',
    lastsMs: SILENT_MS,
    begin: ({ nodes }) => nodes[0]?.proxy?.deafen(),
    end: restore,
  },
]
