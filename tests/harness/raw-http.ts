import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'

/** A TCP client that writes arbitrary bytes and reads only on request. */
export interface RawClient extends Disposable {
  readonly socket: Socket
  readonly send: (bytes: string | Buffer) => void
  /** All received text, once the service has closed the connection. */
  readonly closed: Promise<string>
  /**
   * The received text, once it contains `wanted` that often. Rejects if the connection ends first.
   */
  readonly until: (wanted: string, times?: number) => Promise<string>
}

/** Opens a connection. With `reads: false` it never reads what the service writes. */
export async function rawClient(
  port: number,
  { reads = true, localAddress }: { reads?: boolean; localAddress?: string } = {},
): Promise<RawClient> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  let text = ''
  const { promise: closed, resolve } = Promise.withResolvers<string>()
  socket.on('error', () => {})
  socket.once('close', () => resolve(text))
  if (reads) socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  await once(socket, 'connect')
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    async until(wanted, times = 1) {
      while (text.split(wanted).length <= times) {
        if (socket.destroyed) throw new Error(`closed before ${wanted}: ${text}`)
        await Promise.race([once(socket, 'data'), closed])
      }
      return text
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/**
 * Pipelines a request thousands of times and reads no response, until the server has destroyed the
 * connection. Rejects when the test has reached its time limit.
 */
export async function pipelineUnread(
  port: number,
  { request, signal }: { readonly request: string; readonly signal: AbortSignal },
): Promise<void> {
  using hostile = await rawClient(port, { reads: false })
  hostile.send(request.repeat(3_000))
  // A client that does not read notices a closed connection only by writing.
  const isWritten = () =>
    new Promise((resolve) => hostile.socket.write(request, (failure) => resolve(!failure)))
  while (await isWritten()) {
    signal.throwIfAborted()
    // A write ends at once, so a server in this process needs a turn of its own.
    await setImmediate()
  }
}

/** Formats an HTTP/1.1 request. */
export function rawRequest(
  line: string,
  headers: Readonly<Record<string, string | number>> = {},
  body = '',
): string {
  const all = { Host: 'x', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
