import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import { parseLimits, USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import {
  attestation,
  newKey,
  recoveryRequest,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'
import { assertLimited, countUnlimited, limited, post, REQUEST } from './counted-calls.ts'

const watch = (h: Harness, session: CreatedSession, token = session.watch_token) =>
  h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': token },
  })
const junk = (h: Harness, headers: Record<string, string> = {}) =>
  h.api('POST', '/sessions', { token: 'junk', body: REQUEST, headers })

test('rejects more than 20 invalid credentials a minute, and accepts valid ones from the same address', async () => {
  await using h = await limited()
  assert.equal(await countUnlimited(20, () => junk(h)), 20)
  assertLimited(await junk(h), 'bad_credential', 3)
  const wrongToken = `dt_${'0'.repeat(10)}_${'0'.repeat(43)}`
  assert.equal(
    (await h.api('GET', `/devices/dev_${'0'.repeat(22)}`, { token: wrongToken })).status,
    429,
  )
  const good = await post(h)
  assert.deepEqual([good.status, good.headers.ratelimit], [201, '"create";r=99;t=1'])
  assert.equal(
    (await h.api('POST', '/sessions', { body: REQUEST })).status,
    401,
    'a missing credential does not count as an invalid one',
  )
  h.clock.advance(3_000)
  assert.deepEqual([(await junk(h)).status, (await junk(h)).status], [401, 429])
})

test('counts claims, evidence and assertions of a device together, 20 a minute, but not its declines', async () => {
  await using h = await limited()
  const session = await h.create()
  const [phone, other] = [await h.register(), await h.register()]
  const view = (await h.claim(phone, session)).body
  assert.equal((await h.attest(phone, view)).status, 200)
  assert.equal(await countUnlimited(30, () => h.claim(phone, session)), 17)
  assertLimited(await h.claim(phone, session), 'device', 3)
  assert.equal((await h.evidence(phone, view)).status, 429)
  const next = await h.create()
  assert.equal((await h.claim(other, next)).status, 200)
  assert.equal((await h.decline(other, next)).status, 200)
  const mine = await h.create()
  assert.equal((await h.decline(phone, mine)).status, 200)
})

test('does not change the counter, the session or the timeline when an assertion is rate limited', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  await countUnlimited(18, () => h.claim(phone, session))
  const before = [(await h.get(session)).body.seq, await timelineOf(h, session)]
  const body = attestation(phone, view, verified_evidence, h.now())
  const rejected = await h.api('POST', '/attestations', { token: phone.device_token, body })
  assertLimited(rejected, 'device', 3)
  assert.deepEqual([(await h.get(session)).body.seq, await timelineOf(h, session)], before)
  h.clock.advance(3_000)
  // The same assertion is accepted, because its counter was not used up.
  assert.equal(
    (await h.api('POST', '/attestations', { token: phone.device_token, body })).body.state,
    'bonded',
  )
})

const timelineOf = async (h: Harness, { id }: CreatedSession) =>
  (await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })).body.entries

test('verifies evidence six times per session and phone, and counts each phone apart', async () => {
  await using h = await limited()
  const session = await h.create()
  const [phone, stranger] = [await h.register(), await h.register()]
  const view = await h.view(phone, session)
  assert.equal(await countUnlimited(10, () => h.evidence(stranger, view)), 6)
  assert.equal(await countUnlimited(6, () => h.evidence(phone, view)), 6)
  assertLimited(await h.evidence(phone, view), 'evidence', 86_400)
  // A session refills no unit, even at its end. The next session has its own six.
  h.clock.advance(290_000)
  assert.equal((await h.evidence(phone, view)).status, 429)
  const next = await h.create()
  assert.equal((await h.evidence(phone, await h.view(phone, next))).status, 200)
})

test('limits an address to 60 device registrations and a burst of 1,000 challenges', async () => {
  await using h = await limited()
  const challenges: string[] = []
  const requestChallenge = async () => {
    const reply = await h.api('POST', '/devices/challenges')
    if (reply.status === 201) challenges.push(reply.body.challenge)
    return reply
  }
  const register = async () =>
    h.api('POST', '/devices', {
      body: { format: 'software', challenge: challenges.pop(), public_key: newKey().public_key },
    })
  assert.equal(await countUnlimited(1_010, requestChallenge), 1_000)
  assertLimited(await requestChallenge(), 'challenge', 1)
  assert.equal(await countUnlimited(62, register), 60)
  assertLimited(await register(), 'register', 1)
  h.clock.advance(1_000)
  assert.deepEqual([(await register()).status, (await register()).status], [201, 429])
})

test('limits an address to 30 recoveries a minute, before it reads them', async () => {
  await using h = await limited()
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const challenge = async () => (await h.api('POST', '/devices/challenges')).body.challenge
  const body = recoveryRequest(phone, await challenge(), { origin: PUBLIC_ORIGIN })
  const recover = (raw: string) => h.api('POST', '/devices/recovery', { raw })
  const guess = JSON.stringify({ ...body, challenge: 'x'.repeat(43) })
  assert.equal(await countUnlimited(20, () => recover(guess)), 20)
  assert.equal(await countUnlimited(20, () => recover('{')), 10)
  // Not even the shape of the body is judged.
  assertLimited(await recover('{'), 'recovery', 2)
  assertLimited(await recover(JSON.stringify(body)), 'recovery', 2)
  assert.equal((await h.registration()).body.format, 'software', 'challenges count apart')
  h.clock.advance(2_000)
  assert.equal((await recover(JSON.stringify(body))).status, 201)
})

test('does not use up the challenge of a rate limited registration', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('register=60/1') } })
  await h.register()
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const body = { format: 'software', challenge, public_key: newKey().public_key }
  assert.equal((await h.api('POST', '/devices', { body })).status, 429)
  h.clock.advance(1_000)
  assert.equal((await h.api('POST', '/devices', { body })).status, 201)
})

test('limits each watch token and each phone to 120 reads of a session a minute, counted apart', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone = await h.register()
  assert.equal(await countUnlimited(130, () => watch(h, session, `bwt_${'x'.repeat(43)}`)), 120)
  assert.equal(await countUnlimited(130, () => watch(h, session)), 120)
  assertLimited(await watch(h, session), 'get', 1)
  const readAsPhone = () =>
    h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, { token: phone.device_token })
  assert.equal(await countUnlimited(130, readAsPhone), 120)
  const other = await h.register()
  assert.equal(
    (
      await h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
        token: other.device_token,
      })
    ).status,
    200,
  )
  assert.equal((await watch(h, await h.create())).status, 200)
})

test('limits reads of an unknown session like those of an existing one, header for header', async () => {
  await using h = await limited()
  const session = await h.create()
  const wrong = `bwt_${'x'.repeat(43)}`
  const [existing, unknown] = [
    { ...session, watch_token: wrong },
    { ...session, id: `sess_${'0'.repeat(22)}`, watch_token: wrong },
  ]
  for (let call = 0; call < 125; call++) {
    const replies = [await watch(h, existing), await watch(h, unknown)]
    const [one, two] = replies.map(({ status, headers, body }) => [
      status,
      headers.ratelimit,
      headers['ratelimit-policy'],
      body.error.reason,
    ])
    assert.deepEqual(one, two)
  }
})

test('counts a backend’s get, delete and form-completed calls in separate buckets', async () => {
  await using h = await limited()
  const { session, phone } = await h.reach('bonded')
  await countUnlimited(130, () => watch(h, session))
  await countUnlimited(130, () => h.view(phone, session) as never)
  assert.equal(await countUnlimited(300, () => h.get(session)), 300)
  const completed = await h.complete(session)
  assert.deepEqual([completed.status, completed.headers.ratelimit], [200, '"backend";r=999;t=1'])
  assert.equal((await h.kill(await h.create())).status, 204)
})

test('counts assertions that a backend relays apart from the phone’s and from another tenant’s', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  const asBackend = (token: string) =>
    h.api('POST', '/attestations', {
      token,
      body: attestation(phone, view, verified_evidence, h.now(), { counter: 1 }),
    })
  assert.equal(await countUnlimited(30, () => asBackend(other.server)), 20)
  const body = attestation(phone, view, verified_evidence, h.now())
  assert.equal(
    (await h.api('POST', '/attestations', { token: h.shop.server, body })).body.state,
    'bonded',
  )
})

test('applies a tenant’s own limits to its credentials and pages only, from the next call', async () => {
  await using h = await limited()
  const small = await h.addTenant({
    name: 'Small',
    origins: [SHOP_ORIGIN],
    limits: parseLimits('create=60/3,get=2') ?? {},
  })
  const session = await h.create(REQUEST, small)
  const reply = await post(h, small)
  assert.equal(reply.headers['ratelimit-policy'], '"create";q=60;w=60;burst=3')
  assert.equal(await countUnlimited(10, () => post(h, small)), 1)
  const page = () =>
    h.api('GET', `/sessions/${session.id}`, {
      token: small.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  assert.equal(await countUnlimited(5, page), 2)
  assert.equal((await post(h)).headers.ratelimit, '"create";r=99;t=1')
  await h.service.store.write((tables) => tables.tenants.setLimits(small.tenant.id, {}))
  assert.equal((await post(h, small)).status, 201)
})

test('rejects nothing and sends no limit headers when limits are off', async () => {
  await using h = await harness()
  assert.equal(await countUnlimited(130, () => post(h)), 130)
  assert.equal(await countUnlimited(30, () => junk(h)), 30)
  const reply = await post(h)
  assert.deepEqual(
    [reply.headers.ratelimit, reply.headers['ratelimit-policy']],
    [undefined, undefined],
  )
})

test('ignores X-Forwarded-For without a trusted proxy', async () => {
  await using h = await limited()
  assert.equal(
    await countUnlimited(25, (index) => junk(h, { 'x-forwarded-for': `192.0.2.${index}` })),
    20,
  )
})

for (const setting of ['1', '127.0.0.0/8', '::1,127.0.0.1']) {
  test(`identifies clients behind a proxy trusted as ${setting} only by the entries that the proxy wrote`, async () => {
    await using h = await limited({ trustedProxies: parseTrustedProxies(setting) ?? 0 })
    assert.equal(
      await countUnlimited(25, (index) => junk(h, { 'x-forwarded-for': `192.0.2.${index}` })),
      25,
    )
    assert.equal(
      await countUnlimited(25, (index) =>
        junk(h, { 'x-forwarded-for': `192.0.2.${index}, 198.51.100.7` }),
      ),
      20,
    )
    assert.equal(
      await countUnlimited(25, (index) => junk(h, { 'x-forwarded-for': `2001:db8::${index}` })),
      20,
    )
    assert.equal(
      await countUnlimited(50, (index) => junk(h, { 'x-forwarded-for': `2001:db8:1:${index}::1` })),
      40,
      'a /56 has two quotas',
    )
    assert.equal((await junk(h, { 'x-forwarded-for': '198.51.100.8:4711' })).status, 401)
    assert.equal((await junk(h, { 'x-forwarded-for': '198.51.100.7:4711' })).status, 429)
    assert.equal((await post(h)).status, 201)
  })
}

test('logs a rate limited call with its limit, and adds no timeline entry', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone: TestPhone = await h.register()
  await countUnlimited(21, () => h.claim(phone, session))
  const lines = h.lines
    .map((line) => JSON.parse(line))
    .filter(({ reason }) => reason === 'rate_limited')
  assert.deepEqual(
    lines.map(({ status, step }) => [status, step]),
    [[429, 'device']],
  )
  assert.ok(!JSON.stringify(await timelineOf(h, session)).includes('rate_limited'))
})
