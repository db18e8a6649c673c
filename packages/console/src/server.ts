import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clientAddress } from '@bonded/server/http/connection/client-address'
import { guardConnections } from '@bonded/server/http/connection/connection-guard'
import type { Service } from '@bonded/core/operations/service'
import { answersProbe, listeningHost, namesOrigin, targetOf } from '@bonded/server/http-target'
import type { Logger } from 'pino'
import { type Answer, type Call, cookiesIn, SESSION_COOKIE } from './answer.ts'
import { Console } from './console.ts'
import { Html } from './html.ts'
import { messagePage } from './pages/message.ts'
import type { SignInMethod, SignInParts } from './sign-in.ts'
import { LIVE_SCRIPT } from './live-script.ts'
import { POLICY } from './static-file.ts'
import { STYLE } from './style.ts'

/** The server is for a few people. More than these find it busy. */
const MAX_CONNECTIONS = 256
const MAX_REQUESTS = 32
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 20_000
/** How often Node checks for slow requests. Its default of 30 s exceeds both limits above. */
const SLOW_REQUEST_CHECK_MS = 1_000
/** A token and a reason. */
const MAX_FORM_BYTES = 8_192
const YEAR_SECONDS = 31_536_000

const FILES = [STYLE, LIVE_SCRIPT]
const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // A stricter one would take the origin out of the forms, by which they are recognized.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'cache-control': 'no-store',
}

export interface RunningConsole extends AsyncDisposable {
  readonly port: number
}

/** Serves the console until it is disposed. */
export async function serveConsole(given: {
  readonly service: Service
  /** The address that the browser shows. */
  readonly origin: string
  readonly signIn: (parts: SignInParts) => SignInMethod
  readonly host: string
  readonly port: number
  readonly log: Logger
  readonly headersTimeoutMs?: number
}): Promise<RunningConsole> {
  const { service, origin, signIn, host, port, log } = given
  const console = new Console({ service, log, signIn })
  let running = 0
  const answer = async (request: IncomingMessage) => {
    const call = await callOf(request, { origin, service, console })
    if ('status' in call) return call
    // Counted only now, so that forms which arrive slowly take no place.
    if (running >= MAX_REQUESTS) return BUSY
    running++
    try {
      return await console.answer(call)
    } finally {
      running--
    }
  }
  const checks = { connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS }
  const server = createServer(checks, (request, response) => {
    if (answersProbe(request, response)) return
    void answer(request)
      .catch((err: unknown) => {
        log.error({ err }, 'a request failed')
        return FAILED
      })
      .then((found) => send(found, { request, response, origin }))
  })
  const guard = guardConnections(server)
  server.maxConnections = MAX_CONNECTIONS
  server.headersTimeout = given.headersTimeoutMs ?? HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, listeningHost(host), resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => guard.end(),
  }
}

const link = { to: '/', text: 'Start page' }
const BUSY = messagePage({
  status: 503,
  title: 'The console is busy',
  text: 'It serves too many requests at once. Load the page again.',
  link,
})
const FAILED = messagePage({
  status: 500,
  title: 'Something went wrong',
  text: 'The console could not do this. Its log has the reason.',
  link,
})
const FOREIGN = messagePage({
  status: 403,
  title: 'This came from elsewhere',
  text: 'The request was not made by a page of this console, so nothing was done.',
  link,
})
const OTHER_HOST = messagePage({
  status: 421,
  title: 'This is another address',
  text: 'Open the console at the origin of its configuration.',
  link,
})

/** Reads a request, or answers one that does not come from a page of this console. */
async function callOf(
  request: IncomingMessage,
  of: { readonly origin: string; readonly service: Service; readonly console: Console },
): Promise<Call | Answer> {
  const { origin, service, console } = of
  const { headers } = request
  const { method } = targetOf(request)
  // A name that leads to this machine could otherwise act in the name of its address.
  if (!namesOrigin(request, origin)) return OTHER_HOST
  const url = urlOf(request, origin)
  if (url === undefined || (method !== 'GET' && method !== 'POST')) return FOREIGN
  const file = FILES.find(({ path }) => path === url.pathname)
  if (file !== undefined) return file.answer
  if (!isOwn(request, origin)) return FOREIGN
  const form = method === 'POST' ? await formOf(request) : new URLSearchParams()
  if (form === undefined) return FOREIGN
  const cookies = cookiesIn(headers.cookie)
  return {
    method,
    url,
    form,
    address: clientAddress(request, service.settings.trustedProxies),
    cookies,
    session: console.sessions.find(cookies.get(SESSION_COOKIE), {
      // A page that reads itself again does not show that an operator is there.
      isUsed: headers['sec-fetch-dest'] !== 'empty',
    }),
  }
}

function urlOf({ url = '' }: IncomingMessage, origin: string): URL | undefined {
  const full = `${origin}${url}`
  return url.startsWith('/') && URL.canParse(full) ? new URL(full) : undefined
}

/**
 * Whether a page of this console may have made the request: a form by its origin, and anything that
 * another site makes only if the operator followed a link.
 */
function isOwn({ headers, method }: IncomingMessage, origin: string): boolean {
  const site = headers['sec-fetch-site'] ?? 'none'
  const isSame = site === 'same-origin' || site === 'none'
  if (method === 'POST') return headers.origin === origin && isSame
  // The provider returns the operator here from another site.
  const isVisit =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return isSame || isVisit
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded') return undefined
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > MAX_FORM_BYTES) return undefined
      chunks.push(chunk)
    }
  } catch (failure) {
    // Any client can end its connection early, and no answer can reach it, so it is not logged.
    if ((failure as NodeJS.ErrnoException).code === 'ECONNRESET') return undefined
    throw failure
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

function send(
  { status, headers, body }: Answer,
  to: {
    readonly request: IncomingMessage
    readonly response: ServerResponse
    readonly origin: string
  },
): void {
  const { request, response, origin } = to
  const isSecure = origin.startsWith('https:')
  response.writeHead(status, {
    ...HEADERS,
    ...(isSecure && { 'strict-transport-security': `max-age=${YEAR_SECONDS}` }),
    'content-type': 'text/html; charset=utf-8',
    // What is left of a body that was not read would be taken for the next request.
    ...(request.complete ? {} : { connection: 'close' }),
    ...headers,
  } as never)
  response.end(body instanceof Html ? body.markup : body)
}
