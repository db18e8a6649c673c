import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import { PREFLIGHT } from './headers.ts'
import { PAGE_PATHS } from './pages.ts'
import { Refused } from './refused.ts'

/** A path of the table, as what a request's path must look like, and the methods it takes. */
const TABLE: readonly { readonly pattern: RegExp; readonly method: string }[] = [
  ...(Object.values(ENDPOINTS) as Endpoint[]).map(({ method, path }) => ({ pattern: patternOf(path), method })),
  ...PAGE_PATHS.map((path) => ({ pattern: patternOf(path), method: 'GET' })),
]

/** Answers whatever no route took: a preflight, a wrong method, or a path that is not there. */
export function answerUnmatched(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = [...new Set(TABLE.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
    const preflight =
      request.method === 'OPTIONS' && request.headers.origin !== undefined && request.headers['access-control-request-method'] !== undefined
    if (preflight && allowed.length > 0) {
      if (reply.hasHeader('access-control-allow-origin')) reply.headers(PREFLIGHT)
      return reply.code(204).send()
    }
    if (allowed.length === 0) throw new Refused({ reason: 'unknown_endpoint' })
    reply.header('allow', allowed.join(', '))
    throw new Refused({ reason: 'method_not_allowed' })
  })
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}
