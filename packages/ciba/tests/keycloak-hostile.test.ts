import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { SignJWT, UnsecuredJWT } from 'jose'
import { cibaHarness } from './harness.ts'
import { CLIENT, type Keycloak, REALM, startKeycloak, USER } from './keycloak.ts'

const now = () => Math.floor(Date.now() / 1_000)
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })

async function channel(t: TestContext) {
  const realm = await startKeycloak(t)
  const h = await cibaHarness(t, { realm })
  const url = `${h.issuer}/keycloak`
  return {
    realm,
    h,
    /** The status of a call. */
    status: async (bearer: string, body?: unknown) =>
      (await realm.ask(url, { bearer, ...(body !== undefined && { body }) })).status,
  }
}

/** What a bearer token of the channel claims, for one that the realm has not signed. */
const claims = () => ({
  iss: REALM,
  aud: REALM,
  azp: CLIENT,
  sub: USER.sub,
  typ: 'Bearer',
  jti: 'forged',
  exp: now() + 120,
})
const FORGED: Readonly<Record<string, (realm: Keycloak) => string | Promise<string>>> = {
  'no token': () => '',
  'a text': () => 'a.b.c',
  'alg none': () => new UnsecuredJWT(claims()).encode(),
  'HS256 with the public key in PEM': ({ publicKey }) => {
    const secret = Buffer.from(publicKey.export({ format: 'pem', type: 'spki' }))
    const header = { alg: 'HS256', kid: 'realm-1' }
    return new SignJWT(claims()).setProtectedHeader(header).sign(secret)
  },
  'HS256 with the modulus': ({ publicKey }) => {
    const secret = Buffer.from(String(publicKey.export({ format: 'jwk' })['n']), 'base64url')
    const header = { alg: 'HS256', kid: 'realm-1' }
    return new SignJWT(claims()).setProtectedHeader(header).sign(secret)
  },
  'another key with the kid of the realm': ({ bearerOf }) => bearerOf({}, {}, otherKey),
  'another key with its own kid': ({ bearerOf }) => bearerOf({}, { kid: 'realm-2' }, otherKey),
  'a key in the header': ({ bearerOf }) => {
    const { kty, n, e } = otherKey.export({ format: 'jwk' })
    return bearerOf({}, { kid: undefined, jwk: { kty, n, e } }, otherKey)
  },
  'a changed payload': async ({ bearerOf }) => {
    const [header, , signature] = (await bearerOf()).split('.')
    const payload = Buffer.from(JSON.stringify(claims())).toString('base64url')
    return [header, payload, signature].join('.')
  },
  'a signature that is cut': async ({ bearerOf }) => (await bearerOf()).slice(0, -4),
  'another issuer': ({ bearerOf }) => bearerOf({ iss: 'https://id.example/realms/other' }),
  'the issuer with a slash': ({ bearerOf }) => bearerOf({ iss: `${REALM}/` }),
  'another audience': ({ bearerOf }) => bearerOf({ aud: CLIENT }),
  'a second audience': ({ bearerOf }) => bearerOf({ aud: [REALM, 'account'] }),
  'no audience': ({ bearerOf }) => bearerOf({ aud: undefined }),
  'an ID token': ({ bearerOf }) => bearerOf({ typ: 'ID' }),
  'a refresh token': ({ bearerOf }) => bearerOf({ typ: 'Refresh' }),
  expired: ({ bearerOf }) => bearerOf({ exp: now() - 1 }),
  'no expiry': ({ bearerOf }) => bearerOf({ exp: undefined }),
  'an expiry that is no number': ({ bearerOf }) => bearerOf({ exp: '9999999999' }),
  'an expiry that is no integer': ({ bearerOf }) => bearerOf({ exp: 1e300 }),
  'not valid yet': ({ bearerOf }) => bearerOf({ nbf: now() + 60 }),
  'no jti': ({ bearerOf }) => bearerOf({ jti: undefined }),
  'an empty jti': ({ bearerOf }) => bearerOf({ jti: '' }),
  'a jti that is no text': ({ bearerOf }) => bearerOf({ jti: 7 }),
  'no azp': ({ bearerOf }) => bearerOf({ azp: undefined }),
  'no sub': ({ bearerOf }) => bearerOf({ sub: undefined }),
}

test('rejects every bearer token that the realm has not signed for this channel', async (t) => {
  const { realm, h, status } = await channel(t)
  for (const [what, forge] of Object.entries(FORGED))
    assert.equal(await status(await forge(realm)), 401, what)
  const { status: bare } = await fetch(`${h.issuer}/keycloak`, { method: 'POST', body: '{}' })
  assert.equal(bare, 401)
  const get = await fetch(`${h.issuer}/keycloak`)
  assert.equal(get.status, 404)
  assert.equal(await h.waiting(), 0)
  // A caller that is not the realm learns nothing, and fills no log.
  assert.deepEqual(h.lines, [])
})

test('rejects clients and users that the operator has not listed', async (t) => {
  const { realm, h, status } = await channel(t)
  for (const claim of [{ azp: 'other' }, { azp: ` ${CLIENT}` }, { sub: USER.username }])
    assert.equal(await status(await realm.bearerOf(claim)), 403, JSON.stringify(claim))
  assert.equal(await h.waiting(), 0)
})

test('rejects a body that names another user, or is none that a phone may show', async (t) => {
  const { realm, h, status } = await channel(t)
  const { username: login_hint } = USER
  for (const body of [
    '',
    '{',
    'null',
    '[]',
    {},
    [{ login_hint }],
    { login_hint: null },
    { login_hint: 'eve' },
    { login_hint: 'ADA' },
    { login_hint: [login_hint] },
    '{"__proto__":{"login_hint":"ada"}}',
    { login_hint, binding_message: 'a\u202eb' },
    { login_hint, binding_message: '' },
    { login_hint, binding_message: ['W4SCT'] },
    { login_hint, binding_message: null },
    { login_hint, scope: '\u202e'.repeat(2_500) },
    { login_hint, amount: 2 ** 60 },
  ])
    assert.equal(await status(await realm.bearerOf(), body), 400, JSON.stringify(body).slice(0, 80))
  const long = { login_hint, scope: 'x'.repeat(100_000) }
  assert.equal(await status(await realm.bearerOf(), long), 413)
  assert.equal(await h.waiting(), 0)
})

test('shows a body with its user alone, and one with further members', async (t) => {
  const { realm, h, status } = await channel(t)
  const { username: login_hint } = USER
  assert.equal(await status(await realm.bearerOf(), { login_hint }), 201)
  assert.match((await h.read())?.text ?? '', /"unsigned": \{\}/)
  await h.decline()
  await realm.next()
  // After a decline, the service makes the next request wait.
  h.inbox.h.clock.advance(3_600_000)
  const body = { login_hint, acr_values: 'gold', 'a member': { amount: '1250.00' } }
  assert.equal(await status(await realm.bearerOf(), body), 201)
  assert.match((await h.read())?.text ?? '', /"acr_values": "gold"/)
  assert.match((await h.read())?.text ?? '', /"amount": "1250.00"/)
})

test('accepts each jti once, also after a restart', async (t) => {
  const { realm, h, status } = await channel(t)
  const bearer = await realm.bearerOf()
  const same = {
    jti: JSON.parse(Buffer.from(bearer.split('.')[1] ?? '', 'base64url').toString()).jti,
  }
  const all = await Promise.all([1, 2, 3, 4].map(() => status(bearer)))
  assert.deepEqual(
    all.toSorted((a, b) => a - b),
    [201, 400, 400, 400],
  )
  await h.restart()
  for (const again of [bearer, await realm.bearerOf(same)]) assert.equal(await status(again), 400)
  assert.equal(await h.waiting(), 1)
})

test('says that it is unavailable while the realm has no keys or the service is down', async (t) => {
  const { realm, h, status } = await channel(t)
  const { fetch: real } = globalThis
  for (const [part, outage] of [
    ['/certs', async () => new Response(null, { status: 503 })],
    ['/certs', async () => Response.json({ keys: 'none' })],
    ['/api/v1/sessions', async () => new Response(null, { status: 503 })],
  ] as const) {
    const { mock } = t.mock.method(globalThis, 'fetch', (url: string | URL, init?: RequestInit) =>
      String(url).endsWith(part) ? outage() : real(url, init),
    )
    assert.equal(await status(await realm.bearerOf()), 503, part)
    mock.restore()
  }
  // Anyone can cause the first two, which are within a minute.
  const failures = h.lines.filter((line) => line.includes('a call of Keycloak failed'))
  assert.equal(failures.length, 1)
  assert.equal(await status(await realm.bearerOf()), 201)
  assert.equal(await h.waiting(), 1)
})
