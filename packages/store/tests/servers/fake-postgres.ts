import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { REQUIRED_SETTINGS, SESSION_SETTINGS } from '../../src/postgres/server/session-settings.ts'
import { SERVER_STATE } from '../../src/postgres/server/server-state.ts'

/** What a server sends in place of its usual response to a statement. */
export interface Fault {
  readonly messages: readonly Buffer[]
  /** Whether it then closes the connection. */
  readonly closes: boolean
}

/** The part of a PostgreSQL server that the driver needs, without a database. */
export interface FakePostgres extends AsyncDisposable {
  readonly url: string
  /** The statements that it was to run, in their order. */
  readonly executed: readonly string[]
}

const TEXT = 25
const STATE: Readonly<Record<string, string>> = {
  standby: 'false',
  read_only: 'off',
  version: '180000',
  synchronous_commit: 'on',
  fsync: 'on',
  full_page_writes: 'on',
  encoding: 'UTF8',
  statement_timeout: '5s',
  first_schema: 'pg_catalog',
  ...SESSION_SETTINGS,
  ...REQUIRED_SETTINGS,
}
const READY = message('Z', 'I')
const UNDEFINED_FUNCTION = '42883'

/** The confirmation of a statement, such as `COMMIT`. */
export function complete(tag: string): Buffer {
  return message('C', `${tag}\0`)
}

export function failure(severity: 'ERROR' | 'FATAL', code: string): Buffer {
  return message('E', fieldsOf(severity, code))
}

export function warning(code: string): Buffer {
  return message('N', fieldsOf('WARNING', code))
}

/**
 * Starts a server that confirms every statement.
 *
 * @param faultAt called with each statement that it is to run; undefined if it confirms it
 */
export async function fakePostgres(
  faultAt: (text: string) => Fault | undefined,
): Promise<FakePostgres> {
  const executed: string[] = []
  const sockets = new Set<Socket>()
  const listener = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    serve(socket, (text) => {
      executed.push(text)
      return faultAt(text)
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  return {
    url: `postgres://bonded@127.0.0.1:${port}/bonded`,
    executed,
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close')
      listener.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Responds to the messages of one connection, in the format of the protocol, version 3. */
function serve(socket: Socket, execute: (text: string) => Fault | undefined): void {
  const prepared = new Map<string, string>()
  let received = Buffer.alloc(0)
  let hasStarted = false
  let hasFailed = false
  let bound = ''
  const run = (text: string) => {
    const fault = execute(text)
    if (fault === undefined) {
      socket.write(complete(`${(text.split(' ')[0] ?? '').toUpperCase()} 1`))
      return
    }
    for (const each of fault.messages) socket.write(each)
    if (fault.closes) socket.end()
    // Until the next synchronization, a server skips what follows an error.
    hasFailed = fault.closes || fault.messages.some((each) => each.at(0) === 'E'.charCodeAt(0))
  }
  const respond = (kind: string, body: Buffer) => {
    const texts = body.toString().split('\0')
    const [first = '', second = ''] = texts
    if (kind === 'Q') {
      socket.write(Buffer.concat([...resultOf(first), READY]))
    } else if (kind === 'S') {
      if (!socket.writableEnded) socket.write(READY)
      hasFailed = false
    } else if (!hasFailed) {
      if (kind === 'P') {
        prepared.set(first, second)
        socket.write(message('1', ''))
      } else if (kind === 'D') {
        socket.write(Buffer.concat([message('t', int16(0)), message('n', '')]))
      } else if (kind === 'B') {
        bound = prepared.get(second) ?? ''
        socket.write(message('2', ''))
      } else if (kind === 'C') socket.write(message('3', ''))
      else if (kind === 'E') run(bound)
    }
  }
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      // The first message has no type.
      const start = hasStarted ? 1 : 0
      if (received.length < start + 4) return
      const end = start + received.readInt32BE(start)
      if (received.length < end) return
      const [kind, body] = [
        received.toString('latin1', 0, start),
        received.subarray(start + 4, end),
      ]
      received = received.subarray(end)
      if (hasStarted) respond(kind, body)
      else socket.write(Buffer.concat([message('R', int32(0)), READY]))
      hasStarted = true
    }
  })
}

/** The response to a statement in text. It has no function of a server that knows its log. */
function resultOf(text: string): readonly Buffer[] {
  if (text === SERVER_STATE) return [...rowOf(STATE), complete('SELECT 1')]
  if (text.startsWith('select')) return [failure('ERROR', UNDEFINED_FUNCTION)]
  return [complete(text.toUpperCase())]
}

function rowOf(row: Readonly<Record<string, string>>): readonly Buffer[] {
  const columns = Object.keys(row).map((name) =>
    // The table and its column, the type with its length and its modifier, and the format.
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(TEXT),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  )
  const values = Object.values(row).map((value) =>
    Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)]),
  )
  return [
    message('T', Buffer.concat([int16(columns.length), ...columns])),
    message('D', Buffer.concat([int16(values.length), ...values])),
  ]
}

function fieldsOf(severity: string, code: string): string {
  return `S${severity}\0V${severity}\0C${code}\0Mfault of a test\0\0`
}

function message(kind: string, body: Buffer | string): Buffer {
  const bytes = Buffer.from(body)
  return Buffer.concat([Buffer.from(kind), int32(bytes.length + 4), bytes])
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}
