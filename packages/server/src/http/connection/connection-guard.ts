import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Browsers do not pipeline. A proxy that does has a few requests in flight per connection. */
export const MAX_PENDING_REQUESTS = 16
/** A client that reads nothing for this long has stopped reading. */
export const WRITE_STALL_MS = 10_000
/** How long a body may continue to arrive after the service responded to its request. */
const DISCARD_MS = 1_000
/** How often the guard checks its connections. */
const SWEEP_MS = 1_000
/** How long requests may take once their server stops: a body may arrive for ten seconds. */
const REQUESTS_END_MS = 11_000

/** The state that the guard tracks for an open connection. Most of thousands are idle channels. */
interface Connection {
  pending: number
  /** The progress of a write at its last change, and when that was. Undefined without a write. */
  stalled:
    | { readonly sentBytes: number; readonly queuedBytes: number; readonly sinceMs: number }
    | undefined
  /** When the service responded to a request that is still arriving, and began to discard it. */
  discardingSinceMs: number | undefined
}

/** The members of Node's sockets that the guard needs and Node's types omit. */
interface NodeSocket {
  readonly parser?: { onIncoming?: ((...given: unknown[]) => number) | null } | null
}
/** The native handle of a socket, with the bytes that the kernel has not yet accepted. */
interface NodeHandle {
  readonly writeQueueSize?: number
}
/**
 * The return value of `onIncoming` that stops Node's parser: it treats the remaining bytes as those
 * of another protocol.
 */
const STOP_PARSING = 2

/** Bounds the memory that one connection can make the service use. */
export interface ConnectionGuard extends Disposable {
  /** Destroys connections that read no response, or that keep sending a discarded body. */
  readonly sweep: () => void
  /**
   * Closes the server: completes each request that has arrived within a second of the call, for
   * eleven seconds, and destroys every other connection.
   */
  readonly end: () => Promise<void>
}

/**
 * Destroys a connection with more than 16 pending requests, with a write that makes no progress
 * for 10 s, or with a request that still arrives 1 s after its response.
 */
export function guardConnections(
  server: Server,
  now: () => number = () => performance.now(),
): ConnectionGuard {
  const connections = new Map<Socket, Connection>()
  // One function for all sockets, of which each would otherwise have a closure.
  function onClose(this: Socket): void {
    connections.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    const connection: Connection = {
      pending: 0,
      stalled: undefined,
      discardingSinceMs: undefined,
    }
    connections.set(socket, connection)
    socket.on('close', onClose)
    limitPipelining(socket, connection)
  })
  const countResponse = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket)
    if (connection === undefined) return
    response.once('close', () => {
      connection.pending--
    })
    response.once('finish', () => {
      if (!request.complete) discardRest(request, { connection, now })
    })
  }
  server.on('request', countResponse)
  server.on('checkExpectation', countResponse)
  const sweep = () => {
    for (const [socket, connection] of connections)
      if (isStalled(socket, connection, now()) || isDiscardingLong(connection, now()))
        socket.destroy()
  }
  const timer = setInterval(sweep, SWEEP_MS).unref()
  async function end(): Promise<void> {
    const closed = new Promise((resolve) => void server.close(resolve))
    // Node closes none that has sent nothing, and browsers open such connections ahead of need.
    const idle = setInterval(() => {
      for (const [socket, { pending }] of connections) if (pending === 0) socket.destroy()
    }, SWEEP_MS)
    const late = setTimeout(() => server.closeAllConnections(), REQUESTS_END_MS)
    await closed
    clearInterval(idle)
    clearTimeout(late)
    clearInterval(timer)
  }
  return { sweep, end, [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * Counts requests as Node's parser finds them. One read of 64 KiB can contain thousands of
 * requests. The parser creates objects for each one before a listener can close the socket, so the
 * guard stops the parser itself.
 */
function limitPipelining(socket: Socket, connection: Connection): void {
  const { parser } = socket as NodeSocket
  const accept = parser?.onIncoming
  if (parser == null || accept == null) return
  parser.onIncoming = (...given) => {
    if (connection.pending >= MAX_PENDING_REQUESTS) {
      socket.destroy()
      return STOP_PARSING
    }
    connection.pending++
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

/** Whether the client has read nothing of the written bytes for too long. */
function isStalled(socket: Socket, connection: Connection, nowMs: number): boolean {
  const queuedBytes = (Reflect.get(socket, '_handle') as NodeHandle | null)?.writeQueueSize ?? 0
  const waits = socket.writableLength > 0 || queuedBytes > 0
  if (!waits) {
    connection.stalled = undefined
    return false
  }
  const sentBytes = socket.bytesWritten - socket.writableLength
  const { stalled } = connection
  if (stalled === undefined || sentBytes > stalled.sentBytes || queuedBytes < stalled.queuedBytes) {
    connection.stalled = { sentBytes, queuedBytes, sinceMs: nowMs }
    return false
  }
  // Bytes queued since the last sweep do not restart the clock of a stalled write.
  if (queuedBytes > stalled.queuedBytes) connection.stalled = { ...stalled, queuedBytes }
  return nowMs - stalled.sinceMs >= WRITE_STALL_MS
}
