import { createServer } from 'node:http'
import { ENDPOINTS, type Unreadiness } from '@bonded/contract'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { Random } from '@bonded/core/ports/keyring'
import { rejectionToWire } from '../response/rejection-to-wire.ts'
import { requestIdOf } from '../request-line.ts'
import { answersProbe, type Listening, listening, targetOf } from '../../http-target.ts'

/** Nothing but probes and requests that come too early, each of which closes its connection. */
const MAX_CONNECTIONS = 1_000
/** A probe takes milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000
/** How often Node checks for slow requests. Its default of 30 s exceeds the limit above. */
const SLOW_REQUEST_CHECK_MS = 1_000

const UNAVAILABLE: Rejection = { reason: 'store_unavailable' }

/**
 * Listens where the service will, while its database cannot be used yet: it is alive, not ready,
 * and rejects all other requests unread.
 *
 * @param address.unready why it is not ready now
 */
export async function listenWhileWaiting(address: {
  readonly host: string
  readonly port: number
  readonly random: Random
  readonly unready: () => readonly Unreadiness[]
}): Promise<Listening> {
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS,
  }
  const server = createServer(options, (request, response) => {
    response.shouldKeepAlive = false
    if (answersProbe(request, response)) return
    const { method, path } = targetOf(request)
    const rejection: Rejection =
      method === 'GET' && path === ENDPOINTS.ready.path
        ? { reason: 'not_ready', unready: address.unready() }
        : UNAVAILABLE
    const requestId = requestIdOf(request.headers, address.random)
    const { status, headers, body } = rejectionToWire(rejection, requestId)
    response
      .writeHead(status, {
        ...headers,
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      .end(JSON.stringify(body))
  })
  server.maxConnections = MAX_CONNECTIONS
  return listening(server, address)
}
