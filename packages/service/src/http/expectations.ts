import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Refusal } from '../domain/refusal.ts'
import type { Random } from '../ports/keyring.ts'
import { refusalToWire } from './refusal-to-wire.ts'
import { requestIdOf, type TellRequest } from './request-line.ts'

/** Requests whose client waits for `100 Continue` before it sends the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Answers `Expect`. `100-continue` is answered only when the body is about to be read: a request that is
 * rejected before costs its client no upload. Node would ask for the body at once. Any other
 * expectation is rejected.
 */
export function answerExpectations(
  server: Server,
  { random, tell }: { readonly random: Random; readonly tell: TellRequest },
): void {
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response)
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const requestId = requestIdOf(request.headers, random)
    const refusal: Refusal = { reason: 'expectation_unsupported' }
    const { status, body } = refusalToWire(refusal, requestId)
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestId,
      'cache-control': 'no-store',
      // The client may or may not send its body now, so the next request could not be told from it.
      connection: 'close',
    })
    response.end(JSON.stringify(body))
    tell({ requestId, method: request.method, route: 'broken', status, refusal, ms: 0 }, 'broken')
  })
}

/** Whether the client still waits to be asked for its body. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return waiting.has(request)
}

/** Asks a client that waits for it to send its body. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue()
  waiting.delete(request)
}
