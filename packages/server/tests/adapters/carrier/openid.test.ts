import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import { BUDGET_MS } from '../../../src/adapters/carrier/camara.ts'
import { signedJwt } from '../../../src/adapters/carrier/signed-jwt.ts'
import { PATHS } from './fake-carrier/fake-carrier.ts'
import { NUMBER, scene, SIM_TOKEN, WELL } from './fake-carrier/scene.ts'

const PURPOSE = 'dpv:FraudPreventionAndDetection'

// The fake carrier records a violation for a wrong signature, a lifetime over 300 s, a time in the
// future, a repeated jti, and for any number of purposes but one. The scene fails if it has any.

test('JWT bearer: puts subject and scope into the assertion and into no parameter', async () => {
  await using setting = await scene()
  const { fakeCarrier } = setting
  assert.deepEqual((await setting.check()).finding, WELL)
  const claims = fakeCarrier.authorization.assertions.map(({ iss, sub, aud, scope }) => ({
    iss,
    sub,
    aud,
    scope,
  }))
  const of = (sub: string, scope: string) => ({
    iss: 'bonded',
    sub,
    aud: fakeCarrier.settings.issuer + PATHS.token,
    scope: `${PURPOSE} ${scope}`,
  })
  assert.deepEqual(
    claims.toSorted((one, other) => String(one.scope).localeCompare(String(other.scope))),
    [
      of(`tel:${NUMBER}`, 'device-reachability-status:read'),
      of(`operatortoken:${SIM_TOKEN}`, 'number-verification:verify'),
      of(`tel:${NUMBER}`, 'sim-swap:check'),
    ],
  )
  for (const { path, body } of fakeCarrier.requests) {
    if (path === PATHS.token)
      assert.deepEqual([...new URLSearchParams(body).keys()], ['grant_type', 'assertion'])
  }
})

test('private_key_jwt: signs a new client assertion for the endpoint of each request', async () => {
  await using setting = await scene({}, { flow: 'ciba' })
  const { fakeCarrier } = setting
  assert.deepEqual((await setting.check()).finding, WELL)
  const { assertions } = fakeCarrier.authorization
  const { issuer } = fakeCarrier.settings
  assert.equal(assertions.length, 6)
  assert.equal(new Set(assertions.map(({ jti }) => jti)).size, 6)
  assert.deepEqual(
    new Set(assertions.map(({ aud }) => aud)),
    new Set([issuer + PATHS.backchannel, issuer + PATHS.token]),
  )
  for (const { iss, sub, exp, iat, scope } of assertions) {
    assert.deepEqual([iss, sub, scope], ['bonded', 'bonded', undefined])
    assert.ok(Number(exp) - Number(iat) <= 300)
  }
  const begun = fakeCarrier.requests
    .filter(({ path }) => path === PATHS.backchannel)
    .map(({ body }) => new URLSearchParams(body))
  assert.deepEqual(
    new Set(begun.map((form) => form.get('login_hint'))),
    new Set([`tel:${NUMBER}`, `operatortoken:${SIM_TOKEN}`]),
  )
  assert.ok(begun.every((form) => form.get('scope')?.startsWith(`openid ${PURPOSE} `)))
})

test('selects the algorithm by the key and names the key in the header', async () => {
  const claims = { sub: 'x', aud: 'https://login.example/token' }
  for (const [pair, alg] of [
    [generateKeyPairSync('ec', { namedCurve: 'prime256v1' }), 'ES256'],
    [generateKeyPairSync('rsa', { modulusLength: 2048 }), 'RS256'],
  ] as const) {
    const jwt = await signedJwt(
      { clientId: 'bonded', key: pair.privateKey, keyId: 'k9' },
      claims,
      Date.now(),
    )
    assert.deepEqual(decodeProtectedHeader(jwt), { alg, typ: 'JWT', kid: 'k9' })
  }
})

test('CIBA: polls at the interval and uses a token that arrives within the budget', async () => {
  await using setting = await scene({}, { flow: 'ciba' })
  const { fakeCarrier, clock } = setting
  fakeCarrier.authorization.pendingPolls = 1
  const begin = clock.now()
  const checking = setting.check()
  await fakeCarrier.received(PATHS.token, 3)
  await clock.awaited(begin + 1_000, 3)
  clock.advance(999)
  assert.equal(fakeCarrier.count(PATHS.token), 3)
  clock.advance(1)
  await fakeCarrier.received(PATHS.token, 6)
  assert.deepEqual(await checking, { finding: WELL })
})

for (const [what, set] of [
  ['no interval is named, so five seconds hold', { interval: undefined, pendingPolls: 1 }],
  ['slow_down adds five seconds', { interval: 1, slowDown: true }],
  ['an interval of two seconds ends with the budget', { interval: 2, pendingPolls: 1 }],
] as const) {
  test(`CIBA: ${what}; does not wait for a poll after the deadline`, async () => {
    await using setting = await scene({}, { flow: 'ciba' })
    Object.assign(setting.fakeCarrier.authorization, set)
    const why = 'timeout'
    const early = setting.clock.scheduledBefore(setting.clock.now() + BUDGET_MS)
    assert.equal(
      (await Promise.race([setting.check(), early]))?.note,
      `number_verification:${why} sim_swap:${why} device_status:${why}`,
    )
    assert.equal(setting.fakeCarrier.count(PATHS.token), 3)
  })
}

test('CIBA: ends the check if the budget ends between two polls', async () => {
  await using setting = await scene({}, { flow: 'ciba' })
  const { fakeCarrier, clock } = setting
  fakeCarrier.authorization.pendingPolls = 9
  const begin = clock.now()
  const checking = setting.check()
  await fakeCarrier.received(PATHS.token, 3)
  await clock.awaited(begin + 1_000, 3)
  clock.advance(1_000)
  await fakeCarrier.received(PATHS.token, 6)
  clock.advance(BUDGET_MS - 1_000)
  assert.match(
    String((await checking).note),
    /^number_verification:timeout sim_swap:timeout device_status:timeout$/,
  )
  assert.equal(fakeCarrier.count(PATHS.token), 6)
})

test('notes token_refused for a subject without consent or subscription', async () => {
  for (const flow of ['jwt-bearer', 'ciba'] as const) {
    for (const error of ['access_denied', 'invalid_grant', 'unknown_user_id', 'expired_token']) {
      await using setting = await scene({}, { flow })
      setting.fakeCarrier.authorization.rejected.set(`tel:${NUMBER}`, error)
      assert.equal(
        (await setting.check()).note,
        'sim_swap:token_refused device_status:token_refused',
        `${flow} ${error}`,
      )
    }
  }
})
