import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { PostgresServer } from '../../packages/store/tests/servers/postgres.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

const WAIT_MS = 20_000
const RETRY_MS = 25

/** Why the tests of PgBouncer are skipped; false if it is installed. */
export function missingPgBouncer(): string | false {
  if (spawnSync('pgbouncer', ['--version'], { env: PATH }).status === 0) return false
  const why = 'pgbouncer is not installed: apt-get install pgbouncer'
  console.warn(`LOUD: ${why}`)
  return why
}

/** Debian installs it where only administrators look. */
const PATH = { PATH: `${process.env.PATH}:/usr/sbin` }

/** A running PgBouncer. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL of a database of the server, through the pooler. */
  urlOf(databaseUrl: string): string
}

/** Starts PgBouncer with transaction pooling before a server, with few connections to it. */
export async function startPgBouncer(server: PostgresServer): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-pgbouncer-'))
  const port = await freePort()
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const users = file('users.txt', '"postgres" ""\n')
  const config = file(
    'pgbouncer.ini',
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits,statement_timeout,lock_timeout,idle_in_transaction_session_timeout
`,
  )
  // It refuses to run as root, so it runs as the account of the server.
  const { uid, gid } = statSync(`/proc/${server.pid()}`)
  for (const path of [folder, users, config]) chownSync(path, uid, gid)
  const child = spawn('pgbouncer', ['--quiet', config], { uid, gid, env: PATH, stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  const until = Date.now() + WAIT_MS
  while (!(await accepts(port))) {
    if (Date.now() < until && child.exitCode === null) await setTimeout(RETRY_MS)
    else {
      await stop()
      throw new Error('PgBouncer did not start')
    }
  }
  return {
    urlOf(databaseUrl) {
      const url = new URL(databaseUrl)
      url.port = String(port)
      return url.href
    },
    [Symbol.asyncDispose]: stop,
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => socket.destroy())
    socket.once('connect', () => socket.end())
  })
}
