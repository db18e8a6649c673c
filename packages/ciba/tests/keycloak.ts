import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { jwtVerify, SignJWT } from 'jose'

/** The address that the realm gives itself, at which this test has no server. */
export const REALM = 'https://id.example/realms/bank'
export const USER = { sub: '4b0c2a5e-8d0f-4d5c-9f57-0d1a2f1f7c11', username: 'ada' }
export const CLIENT = 'shop'
const [CERTS, CALLBACK] = ['/certs', '/protocol/openid-connect/ext/ciba/auth/callback']

interface Pending {
  readonly authReqId: string
  readonly client: string
  readonly expiresAt: number
  readonly state: 'pending' | 'approved' | 'denied'
}

/**
 * How the next callback fails: before Keycloak handles it with a status, or after that with the
 * status 500, with a lost answer, or without any.
 */
type Fault = number | 'fails' | 'lost' | 'hangs'

const now = () => Math.floor(Date.now() / 1_000)

/**
 * The part of Keycloak that asks a channel and gets its answers, written from its source:
 * `HttpAuthenticationChannelProvider`, `BackchannelAuthenticationEndpoint`,
 * `BackchannelAuthenticationCallbackEndpoint`, `DeviceEndpoint.getDeviceByUserCode` and
 * `CibaGrantType` of the package `org.keycloak.protocol.oidc.grants`, and `OAuth2DeviceCodeModel`.
 */
export async function startKeycloak(t: Pick<TestContext, 'after'>) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'realm-1', alg: 'RS256', use: 'sig' }
  /** By `auth_result_id`. */
  const requests = new Map<string, Pending>()
  const calls: { path: string | undefined; bearer: string; body: unknown; status: number }[] = []
  const faults: Fault[] = []
  let arrived = Promise.withResolvers<void>()
  let read = 0

  /** `processAuthenticationChannelResult` */
  async function callback(bearer: string | undefined, body: unknown): Promise<number> {
    if (bearer === undefined) return 401
    const expected = { issuer: REALM, audience: REALM }
    const token = await jwtVerify(bearer, publicKey, expected).catch(() => undefined)
    if (token === undefined) return 403
    const { jti = '', azp } = token.payload
    const request = requests.get(jti)
    if (request === undefined) return 403
    // `isPending`: a request that was denied has no session either.
    if (request.state === 'approved') {
      requests.delete(jti)
      return 403
    }
    if (request.client !== azp) return 400
    const { status } = body as { status?: unknown }
    if (status !== 'SUCCEED' && status !== 'UNAUTHORIZED' && status !== 'CANCELLED') return 400
    requests.set(jti, { ...request, state: status === 'SUCCEED' ? 'approved' : 'denied' })
    return 200
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === CERTS) {
      response.setHeader('content-type', 'application/json')
      return void response.end(JSON.stringify({ keys: [jwk] }))
    }
    const [, bearer] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
    const body: unknown = JSON.parse(await text(request))
    const fault = faults.shift()
    const status = typeof fault === 'number' ? fault : await callback(bearer, body)
    calls.push({ path: request.url, bearer: bearer ?? '', body, status })
    arrived.resolve()
    arrived = Promise.withResolvers()
    if (fault === 'lost') request.socket.destroy()
    else if (fault !== 'hangs')
      response.writeHead(fault === 'fails' ? 500 : status, { location: '/elsewhere' }).end()
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })

  /** `createBearerToken`, with other claims or another header where a test says so. */
  const bearerOf = (claims: object = {}, header: object = {}, key = privateKey) =>
    new SignJWT({
      exp: now() + 120,
      iat: now(),
      jti: randomUUID(),
      iss: REALM,
      aud: REALM,
      sub: USER.sub,
      typ: 'Bearer',
      azp: CLIENT,
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'realm-1', ...header })
      .sign(key)

  return {
    host,
    publicKey,
    calls,
    faults,
    bearerOf,
    /** The block of the configuration. */
    config: (subject_ref: string) => ({
      issuer: REALM,
      jwks_uri: `http://${host}${CERTS}`,
      callback: `http://${host}${CALLBACK}`,
      workflow: 'day',
      action: 'act',
      display: [{ label: 'Sign in to', value: 'My bank' }],
      claim_label: 'Unverified message',
      clients: [{ client_id: CLIENT, requester: { kind: 'service', name: 'Shop' } }],
      users: [{ sub: USER.sub, login_hint: USER.username, subject_ref }],
    }),
    /** `processGrantRequest`: it stores the request only after the channel has answered. */
    async ask(
      channel: string,
      {
        bearer,
        body,
        expiresIn = 120,
      }: { bearer?: string; body?: unknown; expiresIn?: number } = {},
    ) {
      const [authReqId, jti] = [randomUUID(), randomUUID()]
      const expiresAt = now() + expiresIn
      const token = bearer ?? (await bearerOf({ jti, exp: expiresAt }))
      const given = {
        login_hint: USER.username,
        scope: 'openid profile',
        is_consent_required: false,
        binding_message: 'W4SCT',
      }
      const { status, headers } = await fetch(channel, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: typeof body === 'string' ? body : JSON.stringify(body ?? given),
      })
      if (status === 201)
        requests.set(jti, { authReqId, client: CLIENT, expiresAt, state: 'pending' })
      return { status, headers, authReqId, token }
    },
    /** The answer of Keycloak to a client that polls. */
    poll(authReqId: string): string {
      const [found] = [...requests].filter(([, request]) => request.authReqId === authReqId)
      if (found === undefined) return 'invalid_grant'
      const [jti, { state, expiresAt }] = found
      if (expiresAt <= now()) return 'expired_token'
      if (state === 'denied') return 'access_denied'
      if (state === 'pending') return 'authorization_pending'
      requests.delete(jti)
      return 'tokens'
    },
    /** The next callback that the test has not read. */
    async next() {
      for (;;) {
        const call = calls[read]
        if (call !== undefined) {
          read++
          return call
        }
        await arrived.promise
      }
    },
  }
}

export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>
