import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Cluster } from '../harness/cluster.ts'
import type { PostgresOptions } from '../../packages/store/tests/servers/postgres.ts'

const HARNESS = join(import.meta.dirname, '../harness')
export const HOUR_MS = 60 * 60_000
const JUMPING_CLOCK = pathToFileURL(join(HARNESS, 'jumping-clock.ts')).href

/** A fault, and what a client may observe while it lasts. */
export interface Scenario {
  /** The name as the guide lists it. */
  readonly name: string
  readonly store: 'sqlite' | 'postgres'
  readonly nodes: number
  /** Whether the broken node still completes new sessions. */
  readonly during: 'works' | 'answers 503' | 'does not answer'
  /** Whether the fault may end a live session by its time. */
  readonly endsSessions?: boolean
  readonly lastsMs: number
  readonly env?: (folder: string) => Record<string, string>
  /** The server of the first node, where it has the fault. */
  readonly postgres?: (folder: string) => PostgresOptions
  /** Why the scenario cannot run here. */
  readonly skip?: (folder: string) => string | false
  /** Removes what `skip` has prepared, after the nodes have ended. */
  readonly dispose?: () => void
  /** Breaks the first node. */
  readonly begin: (cluster: Cluster, folder: string) => void | Promise<void>
  readonly end: (cluster: Cluster, folder: string) => void | Promise<void>
}

const clockFile = (folder: string) => join(folder, 'clock-offset')
const fsyncFile = (folder: string) => join(folder, 'fail-fsync')
const fsyncLibrary = (folder: string): string => join(folder, 'failing-fsync.so')
const FSYNC_SOURCE = join(HARNESS, 'failing-fsync.c')
const failsFsync = (folder: string) => ({
  LD_PRELOAD: fsyncLibrary(folder),
  FAIL_FSYNC_FILE: fsyncFile(folder),
})

/** Compiles the library of a fault of fsync. */
function compileFsync(folder: string): string | false {
  const args = ['-shared', '-fPIC', '-o', fsyncLibrary(folder), FSYNC_SOURCE, '-ldl']
  return process.platform === 'linux' && spawnSync('gcc', args).status === 0
    ? false
    : 'no gcc (apt-get install gcc), or no LD_PRELOAD'
}
/** The environment of a process whose fsync fails while the scenario says so. */
export const FSYNC = {
  skip: compileFsync,
  environment: failsFsync,
  begin: (folder: string): void => writeFileSync(fsyncFile(folder), ''),
  end: (folder: string): void => rmSync(fsyncFile(folder)),
} as const

/** Sets the clock of the first node forward, or back. */
export const jump = (offsetMs: number) => ({
  lastsMs: 2_000,
  env: (folder: string) => ({
    NODE_OPTIONS: `--import=${JUMPING_CLOCK}`,
    CLOCK_OFFSET_FILE: clockFile(folder),
  }),
  begin: (_: Cluster, folder: string) => writeFileSync(clockFile(folder), String(offsetMs)),
  end: (_: Cluster, folder: string) => writeFileSync(clockFile(folder), '0'),
})
const PAUSE_MS = 30_000
/** Stops the process of the first node. */
export const pause = {
  during: 'does not answer',
  lastsMs: PAUSE_MS,
  begin: ({ nodes }: Cluster) => nodes[0]?.pause(),
  end: ({ nodes }: Cluster) => nodes[0]?.resume(),
} as const

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'fsync error on SQLite',
    store: 'sqlite',
    nodes: 1,
    during: 'answers 503',
    lastsMs: 2_000,
    skip: FSYNC.skip,
    env: FSYNC.environment,
    begin: (_, folder) => FSYNC.begin(folder),
    end: (_, folder) => FSYNC.end(folder),
  },
  {
    name: 'clock one hour ahead on SQLite',
    store: 'sqlite',
    nodes: 1,
    during: 'works',
    endsSessions: true,
    ...jump(HOUR_MS),
  },
  {
    name: 'clock one hour behind on SQLite',
    store: 'sqlite',
    nodes: 1,
    during: 'works',
    ...jump(-HOUR_MS),
  },
  { name: 'node paused for 30 s on SQLite', store: 'sqlite', nodes: 1, ...pause },
]
