import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { networksOf } from '@bonded/core/domain/network'
import type { Service } from '@bonded/core/operations/service'
import { clientAddress } from '../connection/client-address.ts'
import type { ConnectionCaps } from '../connection/connection-caps.ts'
import { isOpenToPages } from '../response/cors.ts'
import { fixedHeaders, openToOrigin } from '../response/headers.ts'
import { requestIdOf } from '../request-line.ts'
import { type AdmissionQueue, queueRequests } from './admission-queue.ts'
import { KnownCallers } from './known-callers.ts'
import { OverloadEpisodes } from './overload-episodes.ts'
import { rejectOverloaded } from './shed-response.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly admissionQueue: AdmissionQueue
  }
}

/**
 * Paces the requests of a server, and rejects some of them during an overload. Must be called
 * before other listeners for `request` are added.
 */
export function shedRequests(
  app: FastifyInstance,
  {
    service,
    caps,
    log,
  }: { readonly service: Service; readonly caps: ConnectionCaps; readonly log: Logger },
): AdmissionQueue {
  const { bus, keys, settings, meter, random } = service
  const known = new KnownCallers(keys)
  const episodes = new OverloadEpisodes(log)
  const fixed = fixedHeaders(service)
  const headersFor = (origin: string | undefined, url = '') => {
    if (origin === undefined) return fixed
    const isOpen =
      isOpenToPages(url.split('?', 1)[0] ?? '') &&
      (origin === settings.publicOrigin || known.allowsOrigin(origin))
    return { ...fixed, vary: 'Origin', ...(isOpen ? openToOrigin(origin) : {}) }
  }
  const queue = queueRequests(app.server, {
    room: () => service.store.room?.() ?? Number.POSITIVE_INFINITY,
    isBackend: (socket) => caps.isBackend(socket),
    known,
    networkOf: (request) =>
      networksOf(clientAddress(request, settings.trustedProxies))[0]?.key ?? '',
    shed({ request, response, priority, standing }) {
      meter.shed(priority, standing)
      episodes.count(priority, standing)
      const { headers, url } = request
      rejectOverloaded(
        { request, response, priority },
        { requestId: requestIdOf(headers, random), headers: headersFor(headers.origin, url) },
      )
    },
  })
  // The next call of a phone may come to this node.
  const forget = bus.subscribeAll((change) => known.learnChange(change))
  app.decorate('admissionQueue', queue)
  app.addHook('onResponse', (request, reply, done) => {
    const { tenantId, sessionId, headers } = request
    const { authorization, origin } = headers
    if (reply.statusCode < 400 && tenantId !== undefined)
      known.learn({ authorization, sessionId, tenantId })
    // Revoked, expired, or removed.
    else if (reply.statusCode === 401) known.remove(authorization)
    if (origin !== undefined && reply.hasHeader('access-control-allow-origin'))
      known.learnOrigin(origin)
    done()
  })
  return {
    ...queue,
    [Symbol.dispose]() {
      forget()
      queue[Symbol.dispose]()
      episodes[Symbol.dispose]()
    },
  }
}
