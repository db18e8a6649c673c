import type { IncomingMessage } from 'node:http'
import type { RequestId } from '@bonded/contract'
import type { ShedPriority } from '@bonded/core/ports/meter'
import { awaitsContinue } from '../response/expectations.ts'
import { rejectionToWire } from '../response/rejection-to-wire.ts'
import type { ShedRequest } from './admission-queue.ts'

/** The response around its request id, which is serialized once. */
const ID = 'req_'
const OVERLOADED = rejectionToWire({ reason: 'overloaded' }, ID as RequestId)
const [BEFORE_ID = '', AFTER_ID = ''] = JSON.stringify(OVERLOADED.body).split(ID)
/** The longest time after which a client may return. Those who have begun wait for less. */
const RETRY_AFTER_S: Readonly<Record<ShedPriority, number>> = { begun: 2, new: 5 }
/** A rejected body up to this size is read and dropped, so that its connection stays usable. */
const MAX_DISCARDED_BYTES = 32 * 1024

/**
 * Answers a request with 503 `overloaded`, directly on Node's response: fastify's hooks would cost
 * several times as much, when the service has the least time.
 */
export function rejectOverloaded(
  { request, response, priority }: Pick<ShedRequest, 'request' | 'response' | 'priority'>,
  { requestId, headers }: { requestId: RequestId; headers: Readonly<Record<string, string>> },
): void {
  const text = BEFORE_ID + requestId + AFTER_ID
  response.writeHead(OVERLOADED.status, {
    ...headers,
    // Random, so that the clients do not return together.
    'retry-after': String(Math.ceil(Math.random() * RETRY_AFTER_S[priority])),
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    // All characters are ASCII.
    'content-length': text.length,
    ...(mustClose(request) ? { connection: 'close' } : {}),
  })
  response.end(text)
}

/** Whether the client's next request is ambiguous: it may be the rest of this one's body. */
function mustClose(request: IncomingMessage): boolean {
  if (request.complete) return false
  const length = Number(request.headers['content-length'] ?? 0)
  const isChunked = request.headers['transfer-encoding'] !== undefined
  return awaitsContinue(request) || isChunked || !(length <= MAX_DISCARDED_BYTES)
}
