import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Browsers do not pipeline. A proxy that does has a few requests under way on each connection. */
export const MAX_UNANSWERED_REQUESTS = 16
/** A client that reads nothing for so long does not read at all. */
export const WRITE_STALL_MS = 10_000
/** How long the rest of a body may still arrive after its request was answered. */
const DISCARD_MS = 1_000
/** How often connections are looked at. */
const SWEEP_MS = 1_000

/** What is known of an open connection. */
interface Connection {
  unanswered: number
  /** How much had been written and not yet taken by the client, and since when that is so. */
  stalled: { readonly sentBytes: number; readonly queuedBytes: number; readonly sinceMs: number }
  /** Since when the rest of an answered request is being discarded. */
  discardingSinceMs: number | undefined
}

/** The members of Node's sockets that the guard needs and the types lack. */
interface NodeSocket {
  readonly parser?: { onIncoming?: ((...given: unknown[]) => number) | null } | null
}
/** The kernel's side of a socket: how many bytes it has not yet taken. */
interface NodeHandle {
  readonly writeQueueSize?: number
}
/** What `onIncoming` returns to make Node's parser stop: it takes the rest of the bytes for another protocol's. */
const STOP_PARSING = 2

/** Bounds what one connection can make the service hold. */
export interface ConnectionGuard extends Disposable {
  /** Destroys connections that take no answer, or that go on sending what nobody reads. */
  readonly sweep: () => void
}

/**
 * Destroys a connection with more than 16 unanswered requests, with a write that makes no progress for
 * 10 s, or with a request that is answered and goes on arriving.
 */
export function guardConnections(
  server: Server,
  now: () => number = () => performance.now(),
): ConnectionGuard {
  const connections = new Map<Socket, Connection>()
  server.on('connection', (socket: Socket) => {
    const connection: Connection = {
      unanswered: 0,
      stalled: { sentBytes: 0, queuedBytes: 0, sinceMs: now() },
      discardingSinceMs: undefined,
    }
    connections.set(socket, connection)
    socket.once('close', () => connections.delete(socket))
    limitPipelining(socket, connection)
  })
  const countAnswer = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (connection === undefined) return
    response.once('close', () => {
      connection.unanswered--
    })
    response.once('finish', () => {
      if (!request.complete) discardRest(request, { connection, now })
    })
  }
  server.on('request', countAnswer)
  server.on('checkExpectation', countAnswer)
  const sweep = () => {
    for (const [socket, connection] of connections)
      if (isStalled(socket, connection, now()) || isDiscardingLong(connection, now()))
        socket.destroy()
  }
  const timer = setInterval(sweep, SWEEP_MS).unref()
  return { sweep, [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * Counts requests as Node's parser finds them. One read of 64 KiB can hold thousands of requests, and
 * the parser makes objects for each before any listener could close the socket: it has to be stopped.
 */
function limitPipelining(socket: Socket, connection: Connection): void {
  const { parser } = socket as NodeSocket
  const accept = parser?.onIncoming
  if (parser == null || accept == null) return
  parser.onIncoming = (...given) => {
    if (connection.unanswered >= MAX_UNANSWERED_REQUESTS) {
      socket.destroy()
      return STOP_PARSING
    }
    connection.unanswered++
    return accept(...given)
  }
}

function discardRest(
  request: IncomingMessage,
  { connection, now }: { readonly connection: Connection; readonly now: () => number },
): void {
  connection.discardingSinceMs = now()
  request.once('close', () => {
    connection.discardingSinceMs = undefined
  })
}

function isDiscardingLong({ discardingSinceMs }: Connection, nowMs: number): boolean {
  return discardingSinceMs !== undefined && nowMs - discardingSinceMs >= DISCARD_MS
}

/** Whether the client has taken nothing of what was written for too long. */
function isStalled(socket: Socket, connection: Connection, nowMs: number): boolean {
  const queuedBytes = (Reflect.get(socket, '_handle') as NodeHandle | null)?.writeQueueSize ?? 0
  const sentBytes = socket.bytesWritten - socket.writableLength
  const { stalled } = connection
  const waits = socket.writableLength > 0 || queuedBytes > 0
  if (!waits || sentBytes > stalled.sentBytes || queuedBytes < stalled.queuedBytes) {
    connection.stalled = { sentBytes, queuedBytes, sinceMs: nowMs }
    return false
  }
  // A first write that was queued since the last look is not yet late.
  if (queuedBytes > stalled.queuedBytes) connection.stalled = { ...stalled, queuedBytes }
  return nowMs - stalled.sinceMs >= WRITE_STALL_MS
}
