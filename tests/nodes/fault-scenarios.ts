import type { Cluster } from '../../packages/service/tests/harness/cluster.ts'
import { HOUR_MS, jump, pause, type Scenario } from '../pressure/fault-scenarios.ts'

const restore = ({ nodes }: Cluster) => {
  nodes[0]?.proxy?.cut()
  nodes[0]?.proxy?.restore()
}
/** A refused connection is noticed at once. */
const REFUSED_MS = 3_000
/** Longer than a node waits for a response of the database. */
const SILENT_MS = 10_000

export const SCENARIOS: readonly Scenario[] = [
  { name: 'node paused for 30 s on PostgreSQL', store: 'postgres', nodes: 1, ...pause },
  {
    name: 'clock one hour ahead on one of two nodes on PostgreSQL',
    store: 'postgres',
    nodes: 2,
    during: 'works',
    endsSessions: true,
    ...jump(HOUR_MS),
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
