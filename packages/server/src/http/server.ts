import { BODY_LIMITS } from '@bonded/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Service } from '@bonded/core/operations/service'
import { queueConnections } from './connection/accept-queue.ts'
import { isAmbiguous } from './connection/ambiguous-headers.ts'
import { rejectWatchInQuery } from './watch-in-query.ts'
import { respondToBrokenRequests } from './connection/broken-requests.ts'
import type { ConnectionCaps } from './connection/connection-caps.ts'
import { guardConnections } from './connection/connection-guard.ts'
import { respondToExpectations } from './response/expectations.ts'
import { respondToFailures } from './response/failures.ts'
import { setHeaders } from './response/headers.ts'
import { announceIdleTime } from './connection/idle-time.ts'
import { type ScriptSource, serveHostedScript } from './pages/hosted-script.ts'
import { acceptStrictJson } from './body/json-body.ts'
import { serveBrowserFrame } from './pages/browser-frame.ts'
import { serveHomePage } from './pages/home-page.ts'
import { serveReasonsPage } from './pages/reasons/reasons-page.ts'
import { serveAppLinks } from './pages/app-links.ts'
import { serveReceiptLog } from './pages/receipt-log.ts'
import { serveReceiptKeys } from './pages/receipt-keys.ts'
import { serveRelatedOrigins } from './pages/related-origins.ts'
import { serveLogos } from './pages/logos.ts'
import { serveQrImage } from './pages/pages.ts'
import { type LoadPhonePage, servePhonePage } from './pages/phone-page.ts'
import { serveWebhookPortal } from './pages/webhook-portal.ts'
import type { Rejection } from '@bonded/core/domain/rejection'
import { Rejected } from './response/rejected.ts'
import { requestIdOf, type LogRequest, logRequests } from './request-line.ts'
import { requestValidator } from './body/request-validator.ts'
import { ROUTES } from './routes/index.ts'
import { shedRequests } from './shedding/shed-requests.ts'
import { respondToUnmatched } from './unmatched.ts'

/**
 * Not imported, because an import of node:http evaluates all its exports, including Node's fetch
 * and WebSocket, which the service does not use.
 */
const { METHODS } = process.getBuiltinModule('node:http')

/** A phone on a bad network needs seconds for its body. fastify's default sets no limit. */
const REQUEST_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 5_000
/** How often Node checks for slow requests. Its default of 30 s exceeds both limits above. */
const SLOW_REQUEST_CHECK_MS = 1_000
const MS_A_SECOND = 1_000
/** The longest valid path parameter, with room for typing errors. */
const MAX_PARAM_LENGTH = 100

export interface HttpOptions {
  readonly script: ScriptSource
  readonly phonePage: LoadPhonePage
  readonly log: Logger
  readonly logRequest: LogRequest
  /** Whether the channel takes an upgrade request. All others are plain requests. */
  readonly takesUpgrade: (path: string) => boolean
  readonly caps: ConnectionCaps
  /** The memory budget of all request bodies in flight. */
  readonly bodyBudgetBytes: number
  /** Adds the pages of a program around the service. `bonded serve` adds none. */
  readonly addPages?: AddPages | undefined
}

/** Adds routes to the service, which keep its headers, limits and log. */
export type AddPages = (app: FastifyInstance, service: Service) => void

/** Enough for 500 of the largest bodies at once, and small beside the service's own memory. */
export const BODY_BUDGET_BYTES = 64 * 1024 * 1024

/** Builds the HTTP server of the service. It does not listen yet. */
export function buildServer(
  service: Service,
  {
    script,
    phonePage,
    log,
    logRequest,
    takesUpgrade,
    caps,
    bodyBudgetBytes,
    addPages,
  }: HttpOptions,
): FastifyInstance {
  const app = Fastify({
    // `logRequests` writes one line for each request. fastify would create a logger for each.
    logger: false,
    genReqId: ({ headers }) => requestIdOf(headers, service.random),
    requestIdHeader: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // The default for routes without a body. Each endpoint with a body sets its own limit.
    bodyLimit: BODY_LIMITS.none,
    // The idle time of clients. `ConnectionCaps` has those of backends and proxies.
    keepAliveTimeout: service.settings.connections.idle_seconds * MS_A_SECOND,
    forceCloseConnections: 'idle',
    // During shutdown, a request on an open connection is served with `Connection: close`.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Routes below `API_PREFIX` turn it off.
    exposeHeadRoutes: true,
    // The service responds to a request without Host in the error shape, not with Node's empty 400.
    http: {
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS,
      shouldUpgradeCallback: ({ url = '' }) => takesUpgrade(url.split('?', 1)[0] ?? ''),
    },
    frameworkErrors: (failure, request, reply) => {
      reply.header('x-request-id', request.id).header('cache-control', 'no-store')
      app.errorHandler(failure, request, reply)
    },
    // `respondToBrokenRequests` responds to these in the error shape. fastify would respond again.
    clientErrorHandler: () => {},
    // Fastify's own type, whose parameters describe the options above, fits none of the helpers.
  }) as unknown as FastifyInstance
  shedRequests(app, { service, log })
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: false })

  app.setValidatorCompiler(requestValidator as never)
  app.decorate('connectionCaps', caps)
  setHeaders(app, service)
  logRequests(app, logRequest)
  announceIdleTime(app, caps)
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const rejection: Rejection | undefined = isAmbiguous(raw)
      ? { reason: 'malformed_request' }
      : rejectWatchInQuery(raw.url)
    done(rejection && new Rejected(rejection))
  })
  acceptStrictJson(app, {
    trustedProxies: service.settings.trustedProxies,
    budgetBytes: bodyBudgetBytes,
  })
  respondToFailures(app, { service, log })
  respondToUnmatched(app, service)
  for (const route of ROUTES) route(app, service)
  servePages(app, service, { script, phonePage, addPages })

  respondToExpectations(app.server, { random: service.random, logRequest })
  respondToBrokenRequests(app.server, { service, logRequest })
  const guard = guardConnections(app.server)
  const queue = queueConnections(app.server, { networkOf: (socket) => caps.networkOf(socket) })
  // After the queue has captured the other listeners: the caps count a connection when it arrives.
  caps.watch(app.server)
  app.addHook('onClose', (_app, done) => {
    queue[Symbol.dispose]()
    guard[Symbol.dispose]()
    done()
  })
  return app
}

function servePages(
  app: FastifyInstance,
  service: Service,
  { script, phonePage, addPages }: Pick<HttpOptions, 'script' | 'phonePage' | 'addPages'>,
): void {
  serveHostedScript(app, service, script)
  serveQrImage(app, service)
  serveLogos(app, service)
  servePhonePage(app, { service, load: phonePage })
  serveBrowserFrame(app, { service, load: async () => (await phonePage()).frame })
  serveWebhookPortal(app, { service, load: async () => (await phonePage()).portal })
  serveHomePage(app, service)
  serveReasonsPage(app, service)
  serveAppLinks(app, service)
  serveReceiptKeys(app, service)
  serveReceiptLog(app, service)
  serveRelatedOrigins(app, service)
  addPages?.(app, service)
}
