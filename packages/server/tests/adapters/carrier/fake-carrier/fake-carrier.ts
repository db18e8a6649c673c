import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CarrierSettings } from '../../../../src/adapters/carrier/carrier-client.ts'
import type { Clock } from '../../../../../core/src/ports/clock.ts'
import { Authorization, type Spoken } from './authorization.ts'
import { CORRELATOR, isValid, OPERATIONS } from './operations.ts'

export const PATHS = {
  discovery: '/.well-known/openid-configuration',
  token: '/token',
  backchannel: '/bc-authorize',
  verify: '/number-verification/v2/verify',
  check: '/sim-swap/v2/check',
  date: '/sim-swap/v2/retrieve-date',
  reach: '/device-reachability-status/v1/retrieve',
} as const
export type Path = (typeof PATHS)[keyof typeof PATHS]

/** The facts of a carrier about a number. */
export interface Subscriber {
  swapped?: boolean
  latestSimChange?: string | null
  monitoredPeriod?: number
  reachable?: boolean
  lastStatusTime?: string
}

/** How an endpoint misbehaves: a published error, an invalid response, or no response. */
export type Mood =
  | {
      readonly status: number
      readonly code: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | {
      readonly raw: string
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  | 'hang'
  | 'reset'

/**
 * Starts a local carrier: the published CAMARA APIs and an OpenID Connect provider, both strict.
 */
export async function startFakeCarrier({
  clock,
  ...given
}: { clock: Clock } & Partial<CarrierSettings>) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const violations: string[] = []
  const requests: { path: string; body: string; headers: IncomingMessage['headers'] }[] = []
  const moods = new Map<Path, Mood>()
  const subscribers = new Map<string, Subscriber>()
  /** Carrier tokens that phones hold, and the numbers of the SIMs in them. */
  const sims = new Map<string, string>()
  const authorization = new Authorization({
    clock,
    privateKey,
    clientId: 'bonded',
    violation: (what) => violations.push(what),
  })
  const waiting = new Set<() => void>()
  let origin = ''

  const numberOf = (subject: string) =>
    subject.startsWith('tel:') ? subject.slice(4) : sims.get(subject.replace('operatortoken:', ''))

  const api = (path: string, headers: IncomingMessage['headers'], text: string): Spoken => {
    const operation = OPERATIONS[path]
    if (operation === undefined) return { status: 404, body: rejection(404, 'NOT_FOUND') }
    const body = JSON.parse(text) as { phoneNumber?: string; maxAge?: number }
    if (!isValid(operation.request, body)) violations.push(`${path}: the request ${text}`)
    if (headers['content-type'] !== 'application/json')
      violations.push(`${path}: content type ${headers['content-type']}`)
    if (!isValid(CORRELATOR, headers['x-correlator'])) violations.push(`${path}: correlator`)
    const bearer = String(headers.authorization).replace('Bearer ', '')
    const token = authorization.tokens.get(bearer)
    if (token === undefined || clock.now() >= token.until)
      return { status: 401, body: rejection(401, 'UNAUTHENTICATED') }
    if (!operation.scopes.some((scope) => token.scopes.includes(scope)))
      return { status: 403, body: rejection(403, 'PERMISSION_DENIED') }
    const number = numberOf(token.subject)
    if (path === PATHS.verify) {
      authorization.tokens.delete(bearer)
      if (!token.subject.startsWith('operatortoken:')) {
        return {
          status: 403,
          body: rejection(403, 'NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK'),
        }
      }
      return { status: 200, body: { devicePhoneNumberVerified: number === body.phoneNumber } }
    }
    if (body.phoneNumber !== undefined)
      return { status: 422, body: rejection(422, 'UNNECESSARY_IDENTIFIER') }
    const subscriber = subscribers.get(number ?? '')
    if (subscriber === undefined)
      return { status: 404, body: rejection(404, 'IDENTIFIER_NOT_FOUND') }
    return { status: 200, body: knowledge(path, subscriber, clock.now()) }
  }

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const path = String(request.url)
    requests.push({ path, body: text, headers: request.headers })
    for (const look of waiting) look()
    const mood = moods.get(path as Path)
    if (mood === 'hang') return
    if (mood === 'reset') return void request.socket.destroy()
    if (mood && 'raw' in mood)
      return void response
        .writeHead(mood.status ?? 200, { 'content-type': 'application/json', ...mood.headers })
        .end(mood.raw)
    const { status, body } = mood
      ? { status: mood.status, body: rejection(mood.status, mood.code) }
      : await spoken(path, request, text)
    const schema = OPERATIONS[path] && (OPERATIONS[path].responses[status] ?? false)
    if (schema === false || (schema !== undefined && !isValid(schema, body)))
      violations.push(`${path}: the fake itself: ${status} ${JSON.stringify(body)}`)
    const echoed =
      request.headers['x-correlator'] === undefined
        ? {}
        : { 'x-correlator': request.headers['x-correlator'] }
    response
      .writeHead(status, { 'content-type': 'application/json', ...echoed, ...mood?.headers })
      .end(JSON.stringify(body))
  }

  const spoken = async (
    path: string,
    { headers }: IncomingMessage,
    text: string,
  ): Promise<Spoken> => {
    if (path === PATHS.discovery) {
      return {
        status: 200,
        body: {
          issuer: origin,
          token_endpoint: origin + PATHS.token,
          backchannel_authentication_endpoint: origin + PATHS.backchannel,
        },
      }
    }
    if (path === PATHS.token) return authorization.token(new URLSearchParams(text), origin + path)
    if (path === PATHS.backchannel)
      return authorization.backchannel(new URLSearchParams(text), origin + path)
    return api(path, headers, text)
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((failure: unknown) => {
      violations.push(`the fake itself: ${String(failure)}`)
      response.destroy()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings: CarrierSettings = {
    name: 'acme',
    apiRoot: origin,
    issuer: origin,
    clientId: 'bonded',
    key: privateKey,
    keyId: 'k1',
    flow: 'jwt-bearer',
    purpose: 'dpv:FraudPreventionAndDetection',
    numberPrefixes: ['+34'],
    simSwapMaxAgeHours: 240,
    ...given,
  }
  const count = (path: Path) => requests.filter((request) => request.path === path).length

  return {
    settings,
    authorization,
    subscribers,
    sims,
    moods,
    requests,
    violations,
    count,
    /** Resolves after that many requests to the path. */
    async received(path: Path, times = 1) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => void (count(path) >= times && resolve())
      waiting.add(look)
      look()
      await promise
      waiting.delete(look)
    },
    /** Refuses connections from now on. */
    async down() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      if (server.listening) await new Promise((done) => server.close(done))
      assert.deepEqual(violations, [])
    },
  }
}

function knowledge(path: string, known: Subscriber, now: number): object {
  if (path === PATHS.check) return { swapped: known.swapped ?? false }
  if (path === PATHS.date) {
    return {
      latestSimChange: known.latestSimChange ?? null,
      ...(known.monitoredPeriod === undefined ? {} : { monitoredPeriod: known.monitoredPeriod }),
    }
  }
  const reachable = known.reachable ?? true
  return {
    lastStatusTime: known.lastStatusTime ?? new Date(now).toISOString(),
    reachable,
    ...(reachable ? { connectivity: ['DATA', 'SMS'] } : {}),
  }
}

function rejection(status: number, code: string): object {
  return { status, code, message: 'As the fakeCarrier puts it, about +34600000001.' }
}
