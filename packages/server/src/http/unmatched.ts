import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { preflightHeaders } from './response/cors.ts'
import { countCall } from './limits.ts'
import { pathPattern } from './path-pattern.ts'
import { Rejected } from './response/rejected.ts'

interface Entry {
  readonly path: string
  readonly pattern: RegExp
  readonly method: string
}

/** The paths of the JSON API: template, pattern and method. */
const API: readonly Entry[] = (Object.values(ENDPOINTS) as Endpoint[]).map(({ method, path }) => ({
  path,
  pattern: pathPattern(path),
  method,
}))

/**
 * Responds to requests that match no route: a preflight, a wrong method or an unknown path. It does
 * so before a body is read, whatever the method or the headers declare. Call it before the routes
 * are registered.
 */
export function respondToUnmatched(app: FastifyInstance, service: Service): void {
  const routes: Entry[] = []
  const respond = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = allowedMethods(routes, path)
    const { origin, 'access-control-request-method': requestedMethod } = request.headers
    if (
      request.method === 'OPTIONS' &&
      origin !== undefined &&
      requestedMethod !== undefined &&
      allowed.length > 0
    ) {
      const over = countCall(['public'], { service, request, caller: undefined }, reply)
      if (over !== undefined) throw new Rejected(over)
      if (reply.hasHeader('access-control-allow-origin'))
        reply.headers(preflightHeaders(path) ?? {})
      return reply.code(204).send()
    }
    if (allowed.length === 0) throw new Rejected({ reason: 'unknown_endpoint' })
    reply.header('allow', allowed.join(', '))
    throw new Rejected({ reason: 'method_not_allowed' })
  }
  app.setNotFoundHandler((_request, reply) => reply)
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) await respond(request, reply)
  })
  // A fixed path must not match a sibling's parameter: /devices/challenges names no device.
  for (const { path } of API.filter((entry) => !entry.path.includes('{'))) {
    const siblings = API.filter((entry) => entry.path !== path && entry.pattern.test(path)).map(
      ({ method }) => method,
    )
    const method = siblings.filter((name) => !allowedMethods(API, path).includes(name))
    if (method.length > 0)
      app.route({ method, url: path, onRequest: respond, handler: (_request, reply) => reply })
  }
  app.addHook('onRoute', ({ url, method }) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    for (const each of [method].flat())
      routes.push({ path, pattern: pathPattern(path), method: each })
  })
}

/** Returns the methods of a path: those of a fixed path, else those of the patterns it matches. */
function allowedMethods(entries: readonly Entry[], path: string): readonly string[] {
  const fixed = entries.filter((entry) => entry.path === path)
  const found = fixed.length > 0 ? fixed : entries.filter(({ pattern }) => pattern.test(path))
  return [...new Set(found.map(({ method }) => method))].toSorted()
}
