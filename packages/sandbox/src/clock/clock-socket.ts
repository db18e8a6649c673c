import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { hash } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { explain } from '../explain.ts'
import { type SandboxClock, storeClock } from './sandbox-clock.ts'

/** One command may advance the clock this far. */
export const MAX_ADVANCE_MS = 30 * 86_400_000
/** A request is a number. */
const MAX_REQUEST_CHARACTERS = 20
/** The system's limit for the path of a socket on Linux, less the final zero. macOS has 103. */
const MAX_PATH_BYTES = process.platform === 'darwin' ? 103 : 107

/** The clock of a sandbox, after a request. */
export interface ClockReading {
  readonly now: string
  readonly ahead_ms: number
}

/** What a command advances. */
interface Sandbox {
  readonly clock: SandboxClock
  /** @throws {OperatorError} where a tenant of the database must not see the clock advance */
  readonly checkTenants: () => Promise<void>
}

/**
 * Lets commands on this machine advance the clock. Only a process that may enter the data folder
 * reaches it; no page of a browser can open such a socket.
 */
export async function listenForClock(dataDir: string, sandbox: Sandbox): Promise<AsyncDisposable> {
  const path = socketPath(dataDir)
  // Only one service uses a data folder, so this is a remainder of one that was killed.
  if (process.platform !== 'win32') rmSync(path, { force: true })
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.setTimeout(1_000, () => socket.destroy())
    let request = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      request += chunk
      if (request.length > MAX_REQUEST_CHARACTERS) socket.destroy()
    })
    socket.on('end', () => {
      void answer(dataDir, sandbox, Number(request)).then((reading) => socket.end(reading))
    })
  })
  server.listen(path)
  await once(server, 'listening')
  if (process.platform !== 'win32') chmodSync(path, 0o600)
  server.unref()
  return { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** Advances first on disk: what was promised once stays. */
async function answer(
  dataDir: string,
  { clock, checkTenants }: Sandbox,
  ms: number,
): Promise<string> {
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > MAX_ADVANCE_MS) return ''
  if (ms > 0) {
    try {
      await checkTenants()
      storeClock(dataDir, clock.aheadMs + ms)
    } catch (failure) {
      return JSON.stringify({ problem: explain(failure).message })
    }
    clock.advance(ms)
  }
  const reading: ClockReading = {
    now: new Date(clock.now()).toISOString(),
    ahead_ms: clock.aheadMs,
  }
  return JSON.stringify(reading)
}

/**
 * Advances the clock of the sandbox that runs on this data folder; by 0 to read it.
 *
 * @throws {OperatorError} where none runs, or it cannot store the advance
 */
export async function advanceClock(dataDir: string, ms: number): Promise<ClockReading> {
  const answered = await request(dataDir, ms)
  if ('problem' in answered) throw new OperatorError(answered.problem)
  return answered
}

async function request(
  dataDir: string,
  ms: number,
): Promise<ClockReading | { readonly problem: string }> {
  const socket = connect(socketPath(dataDir))
  try {
    socket.end(String(ms))
    return JSON.parse(await text(socket)) as ClockReading | { readonly problem: string }
  } catch (cause) {
    throw new OperatorError(
      `No sandbox with a clock runs on the data folder ${dataDir}. Start bonded dev; bonded serve has no clock that can be advanced`,
      { code: 'not_found', cause },
    )
  }
}

function socketPath(dataDir: string): string {
  if (process.platform === 'win32')
    return String.raw`\\.\pipe\bonded-${hash('sha256', resolve(dataDir)).slice(0, 32)}`
  const absolute = join(resolve(dataDir), 'clock.sock')
  const [shortest = absolute] = [absolute, relative(process.cwd(), absolute)].toSorted(
    (a, b) => a.length - b.length,
  )
  if (Buffer.byteLength(shortest) <= MAX_PATH_BYTES) return shortest
  throw new OperatorError(
    `The path of the data folder is too long for the socket ${absolute}. Set BONDED_DATA_DIR to a shorter one`,
    { code: 'invalid' },
  )
}
