import type { Duplex } from 'node:stream'
import type { RequestId } from '@bonded/contract'
import type { Refusal } from '../domain/refusal.ts'
import { refusalToWire } from './refusal-to-wire.ts'

/** Time for an answer to arrive and for the client to close. After it nobody would ever close the socket. */
const LINGER_MS = 1_000

/**
 * Answers a request on a socket that Node has handed over, in the error shape, and sees to it that the socket ends:
 * Node has taken its own listeners off, counts it in no time-out, and does not close it with the server.
 *
 * @returns the status
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
  // Whoever resets its connection would end the process: an error that nobody listens for is thrown.
  socket.on('error', () => socket.destroy())
  const late = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(late))
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` +
      `X-Request-Id: ${requestId}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n${extra.join('')}Connection: close\r\n\r\n${text}`,
  )
  // What still comes is dropped: unread, it would hide the client's end, and closing over it could take the answer along.
  socket.resume()
  return status
}
