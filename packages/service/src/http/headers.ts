import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Service } from '../operations/service.ts'

/** On every answer: nothing of it is stored, framed, guessed at or sent on. */
const FIXED = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
} as const

const ONE_YEAR_OF_HTTPS = 'max-age=31536000; includeSubDomains'

/**
 * Sets what every answer carries, refusals included: the request id, the fixed headers, and CORS for the
 * union of all tenants' origins, so that an answer tells nothing about one tenant.
 */
export function setHeaders(app: FastifyInstance, service: Service): void {
  const { publicOrigin } = service.settings
  const fixed = publicOrigin.startsWith('https:')
    ? { ...FIXED, 'strict-transport-security': ONE_YEAR_OF_HTTPS }
    : FIXED
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(fixed).header('x-request-id', request.id)
    const { origin } = request.headers
    if (origin === undefined) return done()
    reply.header('vary', 'Origin')
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
  reply.header('access-control-allow-origin', origin)
  reply.header(
    'access-control-expose-headers',
    'X-Request-Id, Retry-After, RateLimit, RateLimit-Policy',
  )
}

/** What a preflight may be told, for an origin that some tenant has. */
export const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, X-Bond-Watch, Idempotency-Key',
  'access-control-max-age': '600',
} as const
