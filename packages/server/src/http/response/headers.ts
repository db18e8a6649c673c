import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { isOpenToPages } from './cors.ts'

/** Headers of every response. Browsers must not store, frame or sniff it, nor send a referrer. */
const FIXED = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
} as const

const ONE_YEAR_OF_HTTPS = 'max-age=31536000; includeSubDomains'

/** Returns the headers of every response. */
export function fixedHeaders({ settings }: Service): Readonly<Record<string, string>> {
  return settings.publicOrigin.startsWith('https:')
    ? { ...FIXED, 'strict-transport-security': ONE_YEAR_OF_HTTPS }
    : FIXED
}

/** Headers that let a page of this origin read the response, and its `Retry-After`. */
export function openToOrigin(origin: string): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers':
      'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Deprecation, Sunset, Link',
  }
}

/**
 * Sets the request id and the fixed headers on every response, including rejections. On paths that
 * pages may read, it also allows the origins of all tenants alike, so a response reveals nothing
 * about one tenant.
 */
export function setHeaders(app: FastifyInstance, service: Service): void {
  const fixed = fixedHeaders(service)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(fixed).header('x-request-id', request.id)
    const { origin } = request.headers
    if (origin === undefined) return done()
    reply.header('vary', 'Origin')
    if (!isOpenToPages(request.url.split('?', 1)[0] ?? '')) return done()
    allowOrigin(service, reply, origin).then(() => done(), done)
  })
}

async function allowOrigin(
  { settings, store }: Service,
  reply: FastifyReply,
  origin: string,
): Promise<void> {
  if (
    origin !== settings.publicOrigin &&
    !(await store.read((tables) => tables.tenants.knowsOrigin(origin)))
  )
    return
  reply.headers(openToOrigin(origin))
}
