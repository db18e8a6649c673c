import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { median } from './process.ts'

/**
 * How long `bonded serve` takes from the start of the runtime until it listens, and what it holds in memory when it
 * has been idle for a second; beside a bare process with node:http and node:sqlite, in turns. With what
 * earlier starts have compiled; with what an installation has (`prepare` in package.json); and with nothing. `--json`
 * prints one document.
 */
const RUNS = 9
const IDLE_MS = 1_000
const BYTES_A_KIB = 1_024

const BIN = resolve(import.meta.dirname, '../packages/service/bin/bonded.js')
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

const kept = mkdtempSync(join(tmpdir(), 'bonded-compiled-'))
const serve = [BIN, 'serve', '--json']
const bare = ['--input-type=module', '-e', BARE]
type Kind = 'later' | 'first' | 'unprepared' | 'bare'
const starts: Record<Kind, Start>[] = []
// The first fills what is kept, and is not counted.
await start(serve, kept)
for (let run = 0; run < RUNS; run++) {
  const [empty, installed] = [
    mkdtempSync(join(tmpdir(), 'bonded-compiled-')),
    mkdtempSync(join(tmpdir(), 'bonded-compiled-')),
  ]
  execFileSync(process.execPath, [BIN, '--version'], {
    env: { ...process.env, NODE_COMPILE_CACHE: installed, NODE_OPTIONS: '' },
  })
  starts.push({
    unprepared: await start(serve, empty),
    first: await start(serve, installed),
    later: await start(serve, kept),
    bare: await start(bare, empty),
  })
  for (const folder of [empty, installed]) rmSync(folder, { recursive: true, force: true })
}
rmSync(kept, { recursive: true, force: true })

const middle = (which: Kind, figure: keyof Start) =>
  Math.round(median(starts.map((run) => run[which][figure])))
const ratio = (figure: keyof Start) =>
  Math.round(median(starts.map((run) => run.later[figure] / run.bare[figure])) * 100) / 100
const figures = {
  runs: RUNS,
  service_ms: middle('later', 'afterMs'),
  service_first_start_ms: middle('first', 'afterMs'),
  service_unprepared_ms: middle('unprepared', 'afterMs'),
  bare_ms: middle('bare', 'afterMs'),
  ratio_ms: ratio('afterMs'),
  service_mb: middle('later', 'rssMb'),
  service_first_start_mb: middle('first', 'rssMb'),
  service_unprepared_mb: middle('unprepared', 'rssMb'),
  bare_mb: middle('bare', 'rssMb'),
  ratio_mb: ratio('rssMb'),
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: starts }))
else {
  console.log(
    `from the start of the runtime until it listens, and resident after ${IDLE_MS / 1_000} s idle; medians of ${RUNS}`,
  )
  console.log(`  service              ${figures.service_ms} ms  ${figures.service_mb} MB`)
  console.log(
    `  service, first start ${figures.service_first_start_ms} ms  ${figures.service_first_start_mb} MB   (compiled by npm ci)`,
  )
  console.log(
    `  service, unprepared  ${figures.service_unprepared_ms} ms  ${figures.service_unprepared_mb} MB   (nothing compiled)`,
  )
  console.log(
    `  bare                 ${figures.bare_ms} ms  ${figures.bare_mb} MB   (node:http, node:sqlite)`,
  )
  console.log(`  ratio                ${figures.ratio_ms}    ${figures.ratio_mb}`)
}
