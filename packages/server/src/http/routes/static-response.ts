import type { Endpoint } from '@bonded/contract'
import type { Service } from '@bonded/core/operations/service'
import { admitBeforeBody } from '../admission.ts'
import { answersHead } from '../head.ts'
import { endpointName } from '../request-line.ts'
import type { Route } from '../serve.ts'

/**
 * Joins an endpoint of the table to a response that never changes while the service runs. The first
 * request serializes the response and all requests share its bytes, so a response to a slow client
 * holds no copy.
 */
export function serveStatic(endpoint: Endpoint, make: (service: Service) => object): Route {
  const routeName = endpointName(endpoint)
  return (app, service) => {
    let bytes: Buffer | undefined
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      exposeHeadRoute: answersHead(endpoint.path),
      ...(routeName ? { config: { routeName } } : {}),
      onRequest: (request, reply) => admitBeforeBody({ service, endpoint, request, reply }),
      handler(_request, reply) {
        bytes ??= Buffer.from(JSON.stringify(make(service)))
        return reply
          .code(endpoint.status)
          .header('content-type', 'application/json; charset=utf-8')
          .send(bytes)
      },
    })
  }
}
