import { BODY_LIMITS } from '@bonded/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Service } from '../operations/service.ts'
import { isAmbiguous } from './ambiguous-headers.ts'
import { answerBrokenRequests } from './broken-requests.ts'
import type { ConnectionCaps } from './connection-caps.ts'
import { guardConnections } from './connection-guard.ts'
import { CONTRACT_RULES } from './contract-rules.ts'
import { answerExpectations } from './expectations.ts'
import { answerFailures } from './failures.ts'
import { setHeaders } from './headers.ts'
import { acceptStrictJson } from './json-body.ts'
import { serveAppLinks } from './app-links.ts'
import { type ScriptSource, servePages } from './pages.ts'
import { type LoadPhonePage, servePhonePage } from './phone-page.ts'
import { Refused } from './refused.ts'
import { requestIdOf, type TellRequest, logRequests } from './request-line.ts'
import { ROUTES } from './routes/index.ts'
import { answerUnmatched } from './unmatched.ts'

/** Not imported: an import of node:http reads all it has, and so loads Node's fetch and WebSocket with it, which nothing here uses. */
const { METHODS } = process.getBuiltinModule('node:http')

/** A phone on a bad network needs seconds for its body, not minutes. fastify's default would wait for ever. */
const REQUEST_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 5_000
/** How often Node looks for requests that are too slow; its default of 30 s would make the limits above mean little. */
const SLOW_REQUEST_CHECK_MS = 1_000
const MS_A_SECOND = 1_000
/** The longest path parameter there is, and room for a typing error. */
const MAX_PARAM_LENGTH = 100

export interface HttpOptions {
  readonly script: ScriptSource
  readonly phonePage: LoadPhonePage
  readonly log: Logger
  readonly tell: TellRequest
  /** Which upgrade requests the channel takes; all others are answered as plain requests. */
  readonly takesUpgrade: (path: string) => boolean
  readonly caps: ConnectionCaps
  /** What all request bodies in flight may hold together. */
  readonly bodyBudgetBytes: number
}

/** Enough for 500 of the largest bodies at once, and little beside what the service itself needs. */
export const BODY_BUDGET_BYTES = 64 * 1024 * 1024

/** The HTTP side of the service, not yet listening. */
export function buildServer(
  service: Service,
  { script, phonePage, log, tell, takesUpgrade, caps, bodyBudgetBytes }: HttpOptions,
): FastifyInstance {
  const app = Fastify({
    // We write the one line a request ourselves: fastify would make a logger for each.
    logger: false,
    genReqId: ({ headers }) => requestIdOf(headers, service.random),
    requestIdHeader: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Of endpoints without a body too, and before anybody is asked who they are.
    bodyLimit: BODY_LIMITS.none,
    // Of clients. `ConnectionCaps` gives backends and proxies longer.
    keepAliveTimeout: service.settings.connections.idle_seconds * MS_A_SECOND,
    forceCloseConnections: 'idle',
    // What comes over a connection that is being given up is served as ever, and told to close it.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    exposeHeadRoutes: false,
    // A request without Host is answered in our shape, not by Node's empty 400.
    http: {
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS,
      shouldUpgradeCallback: ({ url = '' }) => takesUpgrade(url.split('?', 1)[0] ?? ''),
    },
    // The schemas are our own, and the tests hold them: checking them again at every start costs a tenth of it.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        // A body of several kinds is judged as the kind that it names.
        discriminator: true,
        strict: false,
        validateSchema: false,
        ...CONTRACT_RULES,
      },
    },
    frameworkErrors: (failure, request, reply) => {
      reply.header('x-request-id', request.id).header('cache-control', 'no-store')
      app.errorHandler(failure, request, reply)
    },
    // Answered in our shape below; fastify would answer too.
    clientErrorHandler: () => {},
  }) as unknown as FastifyInstance
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: false })

  caps.watch(app.server)
  app.decorate('connectionCaps', caps)
  setHeaders(app, service)
  logRequests(app, tell)
  app.addHook('onRequest', (request, _reply, done) =>
    done(isAmbiguous(request.raw) ? new Refused({ reason: 'malformed_request' }) : undefined),
  )
  acceptStrictJson(app, {
    trustedProxies: service.settings.trustedProxies,
    budgetBytes: bodyBudgetBytes,
  })
  answerFailures(app, { service, log })
  answerUnmatched(app, service)
  for (const route of ROUTES) route(app, service)
  servePages(app, service, script)
  servePhonePage(app, { service, load: phonePage })
  serveAppLinks(app, service)

  answerExpectations(app.server, { random: service.random, tell })
  answerBrokenRequests(app.server, { service, tell })
  const guard = guardConnections(app.server)
  app.addHook('onClose', (_app, done) => {
    guard[Symbol.dispose]()
    done()
  })
  return app
}
