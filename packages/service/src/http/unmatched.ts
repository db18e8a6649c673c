import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../operations/service.ts'
import { preflightHeaders } from './cors.ts'
import { countCall } from './limits.ts'
import { PAGE_PATHS } from './pages.ts'
import { pathPattern } from './path-pattern.ts'
import { Refused } from './refused.ts'

/** A path of the table, as what a request's path must look like, and the method it takes. */
const TABLE: readonly {
  readonly path: string
  readonly pattern: RegExp
  readonly method: string
}[] = [
  ...(Object.values(ENDPOINTS) as Endpoint[]).map(({ method, path }) => ({
    path,
    pattern: pathPattern(path),
    method,
  })),
  ...PAGE_PATHS.map((path) => ({ path, pattern: pathPattern(path), method: 'GET' })),
]

/**
 * Answers what no route takes: a preflight, a wrong method, or a path that does not exist. It does so
 * before a body is read, whatever the method and its headers say of one.
 */
export function answerUnmatched(app: FastifyInstance, service: Service): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = allowedMethods(path)
    const { origin, 'access-control-request-method': asked } = request.headers
    if (
      request.method === 'OPTIONS' &&
      origin !== undefined &&
      asked !== undefined &&
      allowed.length > 0
    ) {
      const over = await countCall(['public'], { service, request, caller: undefined }, reply)
      if (over !== undefined) throw new Refused(over)
      if (reply.hasHeader('access-control-allow-origin'))
        reply.headers(preflightHeaders(path) ?? {})
      return reply.code(204).send()
    }
    if (allowed.length === 0) throw new Refused({ reason: 'unknown_endpoint' })
    reply.header('allow', allowed.join(', '))
    throw new Refused({ reason: 'method_not_allowed' })
  }
  app.setNotFoundHandler((_request, reply) => reply)
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) await answer(request, reply)
  })
  // A fixed path must not fall through to a sibling that takes anything in its place: /devices/challenges is no device.
  for (const { path } of TABLE.filter((entry) => !entry.path.includes('{'))) {
    const siblings = TABLE.filter((entry) => entry.path !== path && entry.pattern.test(path)).map(
      ({ method }) => method,
    )
    const method = siblings.filter((name) => !allowedMethods(path).includes(name))
    if (method.length > 0)
      app.route({ method, url: path, onRequest: answer, handler: (_request, reply) => reply })
  }
}

/** The methods a path takes: those of the fixed path, if it is one, else of the pattern it fits. */
function allowedMethods(path: string): readonly string[] {
  const fixed = TABLE.filter((entry) => entry.path === path)
  const entries = fixed.length > 0 ? fixed : TABLE.filter(({ pattern }) => pattern.test(path))
  return [...new Set(entries.map(({ method }) => method))]
}
