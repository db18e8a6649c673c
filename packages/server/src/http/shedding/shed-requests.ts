import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { networksOf } from '@bonded/core/domain/network'
import type { Service } from '@bonded/core/operations/service'
import { clientAddress } from '../connection/client-address.ts'
import { isOpenToPages } from '../response/cors.ts'
import { fixedHeaders, openToOrigin } from '../response/headers.ts'
import { requestIdOf } from '../request-line.ts'
import { type AdmissionQueue, queueRequests } from './admission-queue.ts'
import { KnownCallers } from './known-callers.ts'
import { overloadEpisodes } from './overload-episodes.ts'
import { rejectOverloaded } from './shed-response.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly admissionQueue: AdmissionQueue
  }
}

/** Rejects requests of an overload. Must be called before further listeners for `request`. */
export function shedRequests(
  app: FastifyInstance,
  { service, log }: { readonly service: Service; readonly log: Logger },
): void {
  const { bus, keys, settings, meter, random } = service
  const known = new KnownCallers(keys)
  const episodes = overloadEpisodes(log)
  const fixed = fixedHeaders(service)
  /** Those whose pages could last read a response. Few, because operators add them. */
  const origins = new Set([settings.publicOrigin])
  const headersFor = (origin: string | undefined, url = '') => {
    if (origin === undefined) return fixed
    const isOpen = origins.has(origin) && isOpenToPages(url.split('?', 1)[0] ?? '')
    return { ...fixed, vary: 'Origin', ...(isOpen ? openToOrigin(origin) : {}) }
  }
  const queue = queueRequests(app.server, {
    free: () => service.store.free?.() ?? 1,
    known,
    networkOf: (request) =>
      networksOf(clientAddress(request, settings.trustedProxies))[0]?.key ?? '',
    shed(rejected) {
      meter.shed(rejected.priority, rejected.standing)
      episodes.count(rejected.priority, rejected.standing)
      const { headers, url } = rejected.request
      const requestId = requestIdOf(headers, random)
      rejectOverloaded(rejected, { requestId, headers: headersFor(headers.origin, url) })
    },
  })
  // The next call of a phone may come to this node.
  const forget = bus.subscribeAll((change) => known.learnChange(change))
  app.decorate('admissionQueue', queue)
  app.addHook('onResponse', ({ tenantId, sessionId, headers }, reply, done) => {
    const { authorization, origin } = headers
    if (reply.statusCode < 400 && tenantId !== undefined)
      known.learn({ authorization, sessionId, tenantId })
    // Revoked, expired, or removed.
    else if (reply.statusCode === 401) known.remove(authorization)
    if (origin && reply.hasHeader('access-control-allow-origin')) origins.add(origin)
    done()
  })
  app.addHook('onClose', (_app, done) => {
    forget()
    queue[Symbol.dispose]()
    episodes[Symbol.dispose]()
    done()
  })
}
