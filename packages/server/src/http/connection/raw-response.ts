import type { Duplex } from 'node:stream'
import type { RequestId } from '@bonded/contract'
import type { Refusal } from '@bonded/core/domain/refusal'
import { refusalToWire } from '../response/refusal-to-wire.ts'

/**
 * Time for the answer to arrive and for the client to close. Then the service closes the socket.
 */
const LINGER_MS = 1_000

/**
 * Answers a request in the error shape on a socket that Node has detached, and ensures that the
 * socket closes. Node has removed its own listeners and time-outs, and does not close it with the
 * server.
 *
 * @returns the HTTP status
 */
export function rejectOnSocket(
  socket: Duplex,
  answer: {
    readonly refusal: Refusal
    readonly requestId: RequestId
    readonly headers?: Readonly<Record<string, string>>
  },
): number {
  const { refusal, requestId } = answer
  const { status, headers, body } = refusalToWire(refusal, requestId)
  const text = JSON.stringify(body)
  const extra = Object.entries({ ...headers, ...answer.headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  // Without a listener, a client that resets its connection would end the process.
  socket.on('error', () => socket.destroy())
  const lingerTimer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(lingerTimer))
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n${extra.join('')}Connection: close\r\n\r\n${text}`,
  )
  // Drops further bytes. Unread bytes would hide the client's FIN, and closing the socket with them
  // could discard the answer.
  socket.resume()
  return status
}
