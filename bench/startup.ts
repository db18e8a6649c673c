import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import { median } from './process.ts'

/**
 * Measures how long `bonded serve` takes from the start of the runtime until it listens, and how
 * much memory it uses after one idle second. It runs from the sources and compiled (`npm run
 * build`), each with an empty and with a filled compile cache, in turns with a bare process on
 * node:http and node:sqlite. `--json` prints one document.
 */
const RUNS = 9
const IDLE_MS = 1_000
const BYTES_A_KIB = 1_024

const SERVICE = resolve(import.meta.dirname, '../packages/service')
const COMPILED = resolve(SERVICE, 'dist/main.js')
const BARE = `
  import { createServer } from 'node:http'
  import { DatabaseSync } from 'node:sqlite'
  const database = new DatabaseSync(process.env.BONDED_DATA_DIR + '/bare.db')
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table entry (id text, body text)')
  const server = createServer((request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ after_ms: performance.now() })))`

interface Start {
  readonly afterMs: number
  readonly rssMb: number
}

async function start(args: readonly string[], compileCache: string): Promise<Start> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-startup-'))
  const env = {
    ...process.env,
    BONDED_DATA_DIR: folder,
    BONDED_PORT: '0',
    NODE_COMPILE_CACHE: compileCache,
    NODE_OPTIONS: '',
  }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const { after_ms } = JSON.parse(line) as { after_ms: number }
    await pause(IDLE_MS)
    return { afterMs: after_ms, rssMb: residentBytes(child) / 1e6 }
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

function residentBytes({ pid }: ChildProcess): number {
  const status = `/proc/${pid}/status`
  const kib = existsSync(status)
    ? /VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])
  return Number(String(kib)) * BYTES_A_KIB
}

if (!existsSync(COMPILED)) throw new Error('run `npm run build` first')
const COMMANDS = {
  source: [resolve(SERVICE, 'bin/bonded.js'), 'serve', '--json'],
  compiled: [...RUNTIME_FLAGS, COMPILED, 'serve', '--json'],
  bare: ['--input-type=module', '-e', BARE],
} as const
const KINDS = ['source', 'compiled', 'bare'] as const
type Kind = (typeof KINDS)[number]
const CACHES = ['first', 'later'] as const
type Case = `${Kind}_${(typeof CACHES)[number]}`

const starts: Record<Case, Start>[] = []
for (let run = 0; run < RUNS; run++) {
  const round: Partial<Record<Case, Start>> = {}
  for (const kind of KINDS) {
    const cache = mkdtempSync(join(tmpdir(), 'bonded-compiled-'))
    for (const when of CACHES) round[`${kind}_${when}`] = await start(COMMANDS[kind], cache)
    rmSync(cache, { recursive: true, force: true })
  }
  starts.push(round as Record<Case, Start>)
}

const middle = (which: Case, figure: keyof Start) =>
  Math.round(median(starts.map((run) => run[which][figure])))
const figures = Object.fromEntries(
  KINDS.flatMap((kind) =>
    CACHES.map((when) => {
      const which: Case = `${kind}_${when}`
      return [which, { ms: middle(which, 'afterMs'), mb: middle(which, 'rssMb') }]
    }),
  ),
)
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ runs: RUNS, ...figures, all: starts }))
else {
  console.log(
    `from the start of the runtime until it listens, and resident after ${IDLE_MS / 1_000} s idle; medians of ${RUNS}`,
  )
  console.table(figures)
}
