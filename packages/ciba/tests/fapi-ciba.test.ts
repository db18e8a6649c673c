import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { createRemoteJWKSet, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import * as client from 'openid-client'
import { cibaHarness, DETAILS, GRANT, openidClient, type TestClient } from './harness.ts'
import { startReceiver } from './receiver.ts'

/*
 * The plan fapi-ciba-id1-test-plan of the OpenID Foundation (profile plain_fapi, private_key_jwt,
 * static client), in the modes poll and ping. Each test has the name of the module whose steps and
 * expectations it repeats. The suite itself has not been run against this provider.
 */

type Mode = 'poll' | 'ping'
type Claims = Readonly<Record<string, unknown>>
interface Signing {
  readonly alg?: string
  readonly key?: KeyObject | Uint8Array
}

const HOUR_MS = 3_600_000
const NOTIFICATION_TOKEN = 'YDFrbK3vYSzTWJrGn9eZyw'
/** From AddPotentiallyBadBindingMessageToAuthorizationEndpointRequest: long, and not only ASCII. */
const BAD_MESSAGE = `1234 \u{1f44d}\u{1f3ff} 品川 ${'Lorem ipsum dolor sit amet '.repeat(16)}`
const seconds = (ahead = 0) => Math.floor(Date.now() / 1_000) + ahead

async function sceneOf(t: TestContext, mode: Mode) {
  const receiver = mode === 'ping' ? await startReceiver(t) : undefined
  const h = await cibaHarness(t, { signing: 'ES256', ...(receiver && { receiver }) })
  const sign = (
    claims: Claims,
    by: TestClient,
    { alg = 'ES256', key = by.privateKey }: Signing = {},
  ) => new SignJWT(claims).setProtectedHeader({ alg, kid: by.client_id }).sign(key)
  const assertion = async (
    by: TestClient = h.agent,
    claims: Claims = {},
    signing: Signing = {},
  ) => {
    const { client_id } = by
    const own = { iss: client_id, sub: client_id, aud: h.issuer, jti: randomUUID() }
    const times = { iat: seconds(), exp: seconds(60) }
    return {
      client_id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await sign({ ...own, ...times, ...claims }, by, signing),
    }
  }
  const post = async (path: string, form: object) => {
    const body = new URLSearchParams(form as Record<string, string>)
    const response = await fetch(h.issuer + path, { method: 'POST', body })
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  /** The claims of a request. */
  const claimsOf = (claims: Claims = {}) => ({
    iss: h.agent.client_id,
    aud: h.issuer,
    iat: seconds(),
    nbf: seconds(),
    exp: seconds(300),
    jti: randomUUID(),
    scope: 'openid',
    login_hint: h.inbox.subjectRef,
    authorization_details: [DETAILS],
    ...(mode === 'ping' && { client_notification_token: NOTIFICATION_TOKEN }),
    ...claims,
  })
  const request = (claims: Claims = {}, signing: Signing = {}) =>
    sign(claimsOf(claims), h.agent, signing)
  const send = async (form: object) => post('/backchannel', { ...(await assertion()), ...form })
  const ask = async (claims: Claims = {}) => {
    // Earlier requests have expired, and no pause after them is left.
    h.inbox.h.clock.advance(2 * HOUR_MS)
    h.pause()
    const { status, body } = await send({ request: await request(claims) })
    assert.equal(status, 200, JSON.stringify(body))
    const { auth_req_id, expires_in, interval = 5 } = body
    assert.match(String(auth_req_id), /^[\w.-]{22,}$/)
    assert.ok(Number.isInteger(expires_in) && Number.isInteger(interval))
    return String(auth_req_id)
  }
  const token = async (auth_req_id: string, form?: object) =>
    post('/token', { grant_type: GRANT, auth_req_id, ...(form ?? (await assertion())) })
  return {
    mode,
    h,
    receiver,
    assertion,
    post,
    claimsOf,
    request,
    send,
    ask,
    token,
    /** Reads what the client is notified of, in ping mode. */
    notified: async (auth_req_id: string, bearer = NOTIFICATION_TOKEN) => {
      if (receiver === undefined) return
      const { headers, body } = await receiver.next()
      assert.equal(headers.authorization, `Bearer ${bearer}`)
      assert.match(headers['content-type'] ?? '', /^application\/json/)
      assert.deepEqual(body, { auth_req_id })
    },
    /** Expects that a request is rejected, and that no phone shows it. */
    async rejects(form: Promise<object> | object, error = /^invalid_request$/) {
      const { status, body } = await send(await form)
      assert.ok(status === 400 || status === 401, String(status))
      assert.match(String(body['error']), error)
    },
  }
}

type Scene = Awaited<ReturnType<typeof sceneOf>>

async function pending({ token }: Scene, auth_req_id: string, form?: object) {
  const { status, body } = await token(auth_req_id, form)
  assert.equal(status, 400)
  assert.match(String(body['error']), /^(?:authorization_pending|slow_down)$/)
}

/** Ends a request, so that no notification of it reaches a later module. */
async function ends(s: Scene, auth_req_id: string) {
  await s.h.decline()
  await s.notified(auth_req_id)
}

async function succeeds(scene: Scene, claims: Claims = {}) {
  const { h, ask, notified } = scene
  const auth_req_id = await ask(claims)
  await pending(scene, auth_req_id)
  await h.approve()
  await notified(auth_req_id, String(claims['client_notification_token'] ?? NOTIFICATION_TOKEN))
  h.pause()
  const tokens = await h.poll(auth_req_id)
  const keys = createRemoteJWKSet(new URL('/jwks', h.issuer))
  const { payload } = await jwtVerify(String(tokens.id_token), keys, {
    issuer: h.issuer,
    audience: h.agent.client_id,
    algorithms: ['ES256'],
    requiredClaims: ['sub', 'iat', 'exp'],
  })
  const named = payload['urn:openid:params:jwt:claim:auth_req_id'] ?? auth_req_id
  assert.equal(named, auth_req_id)
  assert.ok(tokens.access_token.length >= 22 && Number.isInteger(tokens.expires_in))
  return { auth_req_id, tokens, acr: payload['acr'] }
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey

const withClaims = (claims: () => Claims) => (s: Scene) =>
  s.rejects(s.request(claims()).then((request) => ({ request })))
const signedBy = (signing: (s: Scene) => Signing) => (s: Scene) =>
  s.rejects(s.request({}, signing(s)).then((request) => ({ request })))

/** The client's endpoint responds with this status, and is called once. */
const answering = (status: number) => async (s: Scene) => {
  const calls = s.receiver?.all.length ?? 0
  s.receiver?.statuses.push(status)
  await succeeds(s)
  assert.equal(s.receiver?.all.length, calls + 1)
}

const MODULES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'discovery-end-point-verification'({ h, mode }) {
    const found = await fetch(`${h.issuer}/.well-known/openid-configuration`)
    const metadata = (await found.json()) as Record<string, readonly string[]>
    const has = (member: string, value: string) =>
      assert.ok(metadata[member]?.includes(value), `${member} ${value}`)
    has('backchannel_token_delivery_modes_supported', mode)
    has('grant_types_supported', GRANT)
    has('token_endpoint_auth_methods_supported', 'private_key_jwt')
    for (const member of [
      'token_endpoint_auth_signing_alg_values_supported',
      'backchannel_authentication_request_signing_alg_values_supported',
    ]) {
      for (const alg of ['ES256', 'PS256']) has(member, alg)
      for (const alg of ['RS256', 'HS256', 'none']) assert.ok(!metadata[member]?.includes(alg))
    }
    assert.equal(metadata['backchannel_authentication_endpoint'], `${h.issuer}/backchannel`)
    assert.equal(typeof metadata['backchannel_user_code_parameter_supported'], 'boolean')
  },
  async 'fapi-ciba-id1'(s) {
    await succeeds(s)
    const acr_values = 'urn:bonded-sessions:acr:approval'
    const long = s.mode === 'ping' ? { client_notification_token: 'n'.repeat(1_024) } : {}
    const second = await succeeds(s, { acr_values, requested_expiry: 300, ...long })
    assert.equal(second.acr, acr_values)
    // Another key. The same one gets the same token for a minute, where the module expects none.
    const by = await client.randomDPoPKeyPair('ES256')
    s.h.pause()
    await assert.rejects(s.h.poll(second.auth_req_id, { by }), { error: 'invalid_grant' })
  },
  async 'user-rejects-authentication'(s) {
    const auth_req_id = await s.ask()
    await s.h.decline()
    await s.notified(auth_req_id)
    assert.equal((await s.token(auth_req_id)).body['error'], 'access_denied')
  },
  async 'multiple-call-to-token-endpoint'(s) {
    const auth_req_id = await s.ask()
    for (let call = 0; call < 5; call++) await pending(s, auth_req_id)
    await s.h.approve()
    await s.notified(auth_req_id)
  },
  async 'auth-req-id-expired'(s) {
    const auth_req_id = await s.ask({ requested_expiry: 10 })
    await pending(s, auth_req_id)
    s.h.pause(11_000)
    await assert.rejects(s.h.poll(auth_req_id), { status: 400, error: 'expired_token' })
  },
  async 'ensure-authorization-request-with-binding-message-succeeds'(s) {
    await succeeds(s, { binding_message: '1234' })
  },
  async 'ensure-other-scope-order-succeeds'(s) {
    // The provider has one scope.
    await succeeds(s, { scope: 'openid' })
  },
  async 'ensure-requested-expiry-as-string-succeeds'(s) {
    await succeeds(s, { requested_expiry: '30' })
  },
  'ensure-authorization-request-with-potentially-bad-binding-message': (s) =>
    s.rejects(
      s.request({ binding_message: BAD_MESSAGE }).then((request) => ({ request })),
      /^invalid_binding_message$/,
    ),
  'ensure-request-object-missing-aud-fails': withClaims(() => ({ aud: undefined })),
  'ensure-request-object-bad-aud-fails': withClaims(() => ({ aud: 'https://other.example' })),
  'ensure-request-object-missing-iss-fails': withClaims(() => ({ iss: undefined })),
  'ensure-request-object-bad-iss-fails': withClaims(() => ({ iss: 'other-agent' })),
  'ensure-request-object-missing-exp-fails': withClaims(() => ({ exp: undefined })),
  'ensure-request-object-expired-exp-fails': withClaims(() => ({ exp: seconds(-300) })),
  'ensure-request-object-exp-is-70-minutes-in-future-fails': withClaims(() => ({
    exp: seconds(4_200),
  })),
  'ensure-request-object-missing-iat-fails': withClaims(() => ({ iat: undefined })),
  'ensure-request-object-missing-nbf-fails': withClaims(() => ({ nbf: undefined })),
  'ensure-request-object-nbf-is-10-minutes-in-future-fails': withClaims(() => ({
    nbf: seconds(600),
  })),
  'ensure-request-object-nbf-is-70-minutes-in-past-fails': withClaims(() => ({
    nbf: seconds(-4_200),
  })),
  'ensure-request-object-missing-jti-fails': withClaims(() => ({ jti: undefined })),
  'ensure-request-object-signature-algorithm-is-none-fails': (s) =>
    s.rejects({ request: new UnsecuredJWT(s.claimsOf()).encode() }),
  'ensure-request-object-signature-algorithm-is-bad-fails': signedBy(() => ({
    alg: 'HS256',
    key: new Uint8Array(32),
  })),
  'ensure-request-object-signature-algorithm-is-RS256-fails': signedBy(() => ({
    alg: 'RS256',
    key: rsa,
  })),
  'ensure-request-object-signed-by-other-client-fails': signedBy(({ h }) => ({
    key: h.other.privateKey,
  })),
  'ensure-authorization-request-with-multiple-hints-fails': withClaims(() => ({
    id_token_hint: 'e30.e30.e30',
  })),
  async 'ensure-wrong-auth-req-id-in-token-endpoint-request'(s) {
    const auth_req_id = await s.ask()
    const foreign = await openidClient(s.h.issuer, s.h.other)
    await assert.rejects(foreign.poll(auth_req_id), { status: 400, error: 'invalid_grant' })
    await ends(s, auth_req_id)
  },
  async 'ensure-without-client-assertion-in-token-endpoint-request'(s) {
    const auth_req_id = await s.ask()
    const { status, body } = await s.token(auth_req_id, { client_id: s.h.agent.client_id })
    assert.ok(status === 400 || status === 401)
    assert.match(String(body['error']), /^invalid_(?:client|request)$/)
    await ends(s, auth_req_id)
  },
  async 'ensure-without-client-assertion-in-backchannel-authorization-request'(s) {
    const form = { client_id: s.h.agent.client_id, request: await s.request() }
    const { body } = await s.post('/backchannel', form)
    assert.match(String(body['error']), /^invalid_(?:client|request)$/)
  },
  async 'ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds'(s) {
    const auth_req_id = await s.ask()
    await pending(s, auth_req_id, await s.assertion(s.h.agent, { aud: s.h.issuer }))
    await ends(s, auth_req_id)
  },
  'ensure-unsigned-backchannel-authorization-request-fails': (s) =>
    s.rejects({
      ...s.claimsOf({ iss: undefined, aud: undefined }),
      authorization_details: JSON.stringify([DETAILS]),
    }),
  async 'refresh-token'(s) {
    assert.equal((await succeeds(s)).tokens.refresh_token, undefined)
  },
  async 'ensure-mtls-holder-of-key-required'(s) {
    // The provider binds tokens by DPoP, not by mutual TLS.
    const auth_req_id = await s.ask()
    await s.h.approve()
    await s.notified(auth_req_id)
    s.h.pause()
    assert.notEqual((await s.token(auth_req_id)).status, 200)
  },
}

const PING_MODULES: typeof MODULES = {
  'ping-backchannel-notification-endpoint-response-has-body': answering(200),
  'ping-backchannel-notification-endpoint-response-401': answering(401),
  'ping-backchannel-notification-endpoint-response-403': answering(403),
  'ping-with-mtls-ciba-notification-endpoint-response-401-and-require-server-does-not-retry':
    answering(401),
  'ping-backchannel-notification-endpoint-return-redirect-request': answering(301),
}

/** The plan does not run them for a client that authenticates by `private_key_jwt` and ES256. */
const NOT_APPLICABLE = [
  'ensure-different-client-id-and-issuer-in-backchannel-authorization-request',
  'ensure-wrong-client-id-in-token-endpoint-request',
  'ensure-wrong-client-id-in-backchannel-authorization-request',
  'ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails',
  'ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails',
]

test('every module of the plan is run here, or does not apply', () => {
  const names = [MODULES, PING_MODULES].flatMap((modules) => Object.keys(modules))
  assert.equal(new Set([...names, ...NOT_APPLICABLE]).size, 43)
})

for (const mode of ['poll', 'ping'] as const)
  test(`FAPI-CIBA in ${mode} mode`, async (t) => {
    const scene = await sceneOf(t, mode)
    const modules = { ...MODULES, ...(mode === 'ping' && PING_MODULES) }
    for (const [name, run] of Object.entries(modules)) await t.test(name, () => run(scene))
  })
