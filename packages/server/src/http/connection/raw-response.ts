import type { Duplex } from 'node:stream'
import type { RequestId } from '@bonded/contract'
import type { Rejection } from '@bonded/core/domain/rejection'
import { rejectionToWire } from '../response/rejection-to-wire.ts'

/**
 * Time for the response to arrive and for the client to close. Then the service closes the socket.
 */
const LINGER_MS = 1_000

/**
 * Responds to a request in the error shape on a socket that Node has detached, and ensures that the
 * socket closes. Node has removed its own listeners and time-outs, and does not close it with the
 * server.
 *
 * @returns the HTTP status
 */
export function rejectOnSocket(
  socket: Duplex,
  response: {
    readonly rejection: Rejection
    readonly requestId: RequestId
    readonly headers?: Readonly<Record<string, string>>
  },
): number {
  const { rejection, requestId } = response
  const { status, headers, body } = rejectionToWire(rejection, requestId)
  const text = JSON.stringify(body)
  const extra = Object.entries({ ...headers, ...response.headers }).map(
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
  // could discard the response.
  socket.resume()
  return status
}
