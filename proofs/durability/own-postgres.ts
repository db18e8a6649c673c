import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { programEnvironment } from '@bonded/server/adapters/programs/program'

const READY_WITHIN_MS = 60_000
const KEPT_OUTPUT = 4_000
/** `initdb` creates it. The folder of the binaries may have no `createdb`. */
const DATABASE = 'postgres'

/** A PostgreSQL server with its own data folder, which a run may stop as it likes. */
export interface OwnPostgres extends AsyncDisposable {
  /** The value of BONDED_DATABASE_URL. */
  readonly url: string
  /** Stops it like `pg_ctl stop -m immediate`: every process at once, without a checkpoint. */
  stopImmediately(): Promise<void>
  start(): Promise<void>
}

/**
 * Creates a data folder with `initdb` and starts the server on a free port of 127.0.0.1.
 *
 * @param options.bin the folder of `initdb` and `postgres`
 * @param options.folder an existing folder, which gets the data folder
 * @param options.settings settings of the server, like `wal_writer_delay=10s`
 */
export async function ownPostgres(options: {
  readonly bin: string
  readonly folder: string
  readonly settings?: readonly string[]
}): Promise<OwnPostgres> {
  const { bin, folder, settings = [] } = options
  const data = join(folder, 'postgres')
  const account = serverAccount()
  mkdirSync(data, { mode: 0o700 })
  if (account !== undefined) {
    chownSync(data, account.uid, account.gid)
    // The server's account passes through, but cannot read the folder.
    chmodSync(folder, 0o711)
  }
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'bonded', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-instructions'],
    { encoding: 'utf8', cwd: '/', env: programEnvironment(), ...account },
  )
  if (made.status !== 0)
    throw new Error(`initdb failed: ${made.error?.message ?? (made.stderr || made.stdout)}`)
  const port = await freePort()
  const given = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    ...settings,
  ]
  let server: ChildProcess | undefined
  const start = async () => {
    const started = spawn(
      join(bin, 'postgres'),
      ['-D', data, ...given.flatMap((setting) => ['-c', setting])],
      { cwd: '/', env: programEnvironment(), stdio: ['ignore', 'ignore', 'pipe'], ...account },
    )
    server = started
    await untilAccepting(started)
  }
  const stop = async (signal: 'SIGQUIT' | 'SIGINT') => {
    if (server === undefined || server.exitCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  await start()
  return {
    url: `postgres://bonded@127.0.0.1:${port}/${DATABASE}`,
    start,
    stopImmediately: () => stop('SIGQUIT'),
    [Symbol.asyncDispose]: () => stop('SIGINT'),
  }
}

/** PostgreSQL refuses to run as root. Then it runs as the account of the system's own server. */
function serverAccount(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  if (line === null)
    throw new Error('PostgreSQL does not run as root, and this machine has no account "postgres"')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

async function untilAccepting(server: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  const timer = setTimeout(
    () => reject(new Error(`PostgreSQL did not start in time: ${output}`)),
    READY_WITHIN_MS,
  )
  server.stderr?.on('data', (chunk: unknown) => {
    output = (output + String(chunk)).slice(-KEPT_OUTPUT)
    if (output.includes('database system is ready to accept connections')) resolve()
  })
  const fail = () => reject(new Error(`PostgreSQL did not start: ${output}`))
  server.once('exit', fail)
  server.once('error', reject)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    server.off('exit', fail)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
