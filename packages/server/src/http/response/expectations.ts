import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { Random } from '@bonded/core/ports/keyring'
import { rejectionToWire } from './rejection-to-wire.ts'
import { requestIdOf, type LogRequest } from '../request-line.ts'

/** Requests whose client waits for `100 Continue` before it sends the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Responds to the `Expect` header. The service sends `100 Continue` only when it is about to read
 * the body, so a request that it rejects earlier costs its client no upload. Node would send it at
 * once. The service rejects any other expectation.
 */
export function respondToExpectations(
  server: Server,
  { random, logRequest }: { readonly random: Random; readonly logRequest: LogRequest },
): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response)
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const requestId = requestIdOf(request.headers, random)
    const rejection: Rejection = { reason: 'expectation_unsupported' }
    const { status, body } = rejectionToWire(rejection, requestId)
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestId,
      'cache-control': 'no-store',
      // The client may or may not send its body now, so the next request would be ambiguous.
      connection: 'close',
    })
    response.end(JSON.stringify(body))
    logRequest(
      { requestId, method: request.method, route: 'broken', status, rejection, ms: 0 },
      'broken',
    )
  })
}

/** Whether the client still waits for `100 Continue`. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return waiting.has(request)
}

/** Sends `100 Continue` to a client that waits for it. */
export function sendContinue(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue()
  waiting.delete(request)
}
