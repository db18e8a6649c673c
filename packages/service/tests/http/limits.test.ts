import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { parseTrustedProxies } from '../../src/http/client-address.ts'
import { parseLimits, USUAL_LIMITS } from '../../src/domain/limits.ts'
import { type Harness, harness, type Reply, SHOP_ORIGIN } from '../harness/harness.ts'
import { attestation, newKey, type TestPhone } from '../harness/phone.ts'

const limited = (options: Parameters<typeof harness>[0] = {}) =>
  harness({ limits: USUAL_LIMITS, ...options })
const W = { workflow: 'credit_application' }

/** The calls one after another, and how many of them were not limited. */
async function passed(calls: number, call: (at: number) => Promise<Reply>): Promise<number> {
  let through = 0
  for (let at = 0; at < calls; at++) through += (await call(at)).status === 429 ? 0 : 1
  return through
}

function isLimited(reply: Reply, name: string, retryAfterSeconds: number): void {
  assert.deepEqual(
    [reply.status, reply.body.error.code, reply.body.error.reason],
    [429, 'rate_limited', 'rate_limited'],
    reply.text,
  )
  assert.equal(reply.headers['retry-after'], String(retryAfterSeconds))
  assert.match(String(reply.headers.ratelimit), new RegExp(`"${name}";r=0;t=${retryAfterSeconds}$`))
  assert.match(String(reply.headers['ratelimit-policy']), new RegExp(`"${name}";q=\\d+`))
}

const post = (h: Harness, keys = h.shop, body: object = W) =>
  h.api('POST', '/sessions', { token: keys.server, body })
const watch = (h: Harness, session: CreatedSession, token = session.watch_token) =>
  h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': token },
  })
const junk = (h: Harness, headers: Record<string, string> = {}) =>
  h.api('POST', '/sessions', { token: 'junk', body: W, headers })

test('a server credential creates 100 at once and then ten a second, and another credential is not touched', async () => {
  await using h = await limited()
  assert.equal(await passed(100, () => post(h)), 100)
  isLimited(await post(h), 'create', 1)
  const second = await h.addKeys(h.shop.tenant, null)
  const other = await post(h, second)
  assert.deepEqual(
    [other.status, other.headers.ratelimit, other.headers['ratelimit-policy']],
    [201, '"create";r=99;t=1', '"create";q=600;w=60;burst=100'],
  )
  h.clock.advance(1_000)
  assert.equal(await passed(20, () => post(h)), 10)
})

test('a limited create writes nothing: no session, no Idempotency-Key', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('create=60/1') } })
  const stored = () =>
    h.service.store.read((tables) =>
      tables.sessions.list({ tenantId: h.shop.tenant.id, limit: 1_000 }),
    )
  await post(h)
  const before = await stored()
  const refused = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: W,
    headers: { 'idempotency-key': 'one' },
  })
  assert.equal(refused.status, 429)
  assert.deepEqual(await stored(), before)
  h.clock.advance(1_000)
  // The key is still free for another body.
  const again = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'wire_transfer', action: 'approve_wire' },
    headers: { 'idempotency-key': 'one' },
  })
  assert.equal(again.status, 201)
})

test('creates 60 sessions a minute for one end user address, and leaves the rest to other users', async () => {
  await using h = await limited()
  const from = (end_user_address: string) => post(h, h.shop, { ...W, end_user_address })
  assert.equal(await passed(80, () => from('192.0.2.1')), 60)
  isLimited(await from('192.0.2.1'), 'create_address', 1)
  const other = await from('192.0.2.2')
  assert.equal(other.headers.ratelimit, '"create_address";r=59;t=1, "create";r=39;t=1')
  const elsewhere = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  assert.equal((await post(h, elsewhere, { ...W, end_user_address: '192.0.2.1' })).status, 201)
})

const createFor = (h: Harness, end_user_address: string) =>
  post(h, h.shop, { ...W, end_user_address })
/** The create limit raised, so that only the limit of the addresses counts. */
const ADDRESSES_ONLY = { ...USUAL_LIMITS, ...parseLimits('create=600000/100000') }
const hex = (number: number) => number.toString(16)

test('counts the end users of one IPv6 /64 as one', async () => {
  await using h = await limited()
  assert.equal(await passed(70, (at) => createFor(h, `2001:db8:0:1::${hex(at)}`)), 60)
  assert.equal((await createFor(h, '2001:0DB8::1:0:0:0:9')).status, 429)
  assert.equal((await createFor(h, '2001:db8:0:2::1')).status, 201)
})

test('creates at most 120 sessions a minute for one IPv6 /56, from all its /64 together', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(await passed(256, (at) => createFor(h, `2001:db8:0:${hex(at)}::1`)), 120)
  isLimited(await createFor(h, '2001:db8:0:ff::2'), 'create_address', 1)
  assert.equal((await createFor(h, '2001:db8:0:100::1')).status, 201, 'another /56')
})

test('creates at most 480 sessions a minute for one IPv6 /48, from all its /56 together', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(await passed(512, (at) => createFor(h, `2001:db8:0:${hex(at * 128)}::1`)), 480)
  assert.equal((await createFor(h, '2001:db8:1:1::1')).status, 201, 'another /48')
})

test('rejects without taking a unit: a /64 that is over its limit leaves its /56 to neighbors', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(await passed(200, (at) => createFor(h, `2001:db8:0:1::${hex(at)}`)), 60)
  assert.equal(await passed(70, (at) => createFor(h, `2001:db8:0:2::${hex(at)}`)), 60)
})

test('counts an IPv4 address written as IPv6 together with the IPv4 address', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  const spellings = ['10.0.0.1', '::ffff:10.0.0.1', '::ffff:0a00:1', '::FFFF:A00:1']
  assert.equal(await passed(80, (at) => createFor(h, spellings[at % 4] as string)), 60)
  assert.equal((await createFor(h, '::ffff:0a00:2')).status, 201)
})

test('keeps a quarter of the create limit for networks that a tenant has not seen lately', async () => {
  await using h = await limited()
  const home = (at: number) => createFor(h, `2001:db8:0:${hex(at % 256)}::1`)
  // The first four come from two /64 of a /56 that is still new to the tenant.
  assert.equal(await passed(100, home), 75)
  isLimited(await home(7), 'create', 1)
  for (let user = 1; user <= 25; user++)
    assert.equal((await createFor(h, `192.0.2.${user}`)).status, 201, `user ${user}`)
  assert.equal((await createFor(h, '192.0.2.99')).status, 429, 'the kept quarter is used up')
})

test('lets other users create for ten minutes while one home connection creates all it can', async () => {
  await using h = await limited()
  for (let step = 0; step < 120; step++) {
    await passed(20, (at) => createFor(h, `2001:db8:0:${hex((step * 20 + at) % 256)}::1`))
    const other = await createFor(h, `198.51.${step % 100}.${step}`)
    assert.equal(other.status, 201, `after ${step * 5} s`)
    h.clock.advance(5_000)
  }
})

test('treats a network as new again five minutes after its creates', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('create=1/4') } })
  assert.equal(await passed(9, () => createFor(h, '192.0.2.1')), 3)
  assert.equal((await createFor(h, '192.0.2.2')).status, 201)
  // Five units would have come in; a bucket of four is full. Three of them are taken by others.
  h.clock.advance(300_000)
  for (const user of [3, 4, 5]) await createFor(h, `192.0.2.${user}`)
  assert.equal((await createFor(h, '192.0.2.1')).status, 201)
})

test('gives a backend that names no end user address the whole create limit', async () => {
  await using h = await limited()
  assert.equal(await passed(120, () => post(h)), 100)
})

test('an IPv4 end user in IPv6 spellings is one', async () => {
  await using h = await limited()
  const from = (end_user_address: string) => post(h, h.shop, { ...W, end_user_address })
  const spellings = ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:c000:0201']
  assert.equal(await passed(80, (at) => from(spellings[at % spellings.length] ?? '')), 60)
  assert.equal((await from('::ffff:c000:202')).status, 201)
})

test('of bad credentials 20 a minute are answered, and a good one from the same address all the time', async () => {
  await using h = await limited()
  assert.equal(await passed(20, () => junk(h)), 20)
  isLimited(await junk(h), 'bad_credential', 3)
  const wrongToken = `dt_${'0'.repeat(10)}_${'0'.repeat(43)}`
  assert.equal(
    (await h.api('GET', `/devices/dev_${'0'.repeat(22)}`, { token: wrongToken })).status,
    429,
  )
  const good = await post(h)
  assert.deepEqual([good.status, good.headers.ratelimit], [201, '"create";r=99;t=1'])
  assert.equal(
    (await h.api('POST', '/sessions', { body: W })).status,
    401,
    'none at all is not a bad one',
  )
  h.clock.advance(3_000)
  assert.deepEqual([(await junk(h)).status, (await junk(h)).status], [401, 429])
})

test('claim, evidence and attestation count together, 20 a minute for a device; decline and the other phone go through', async () => {
  await using h = await limited()
  const session = await h.create()
  const [phone, other] = [await h.register(), await h.register()]
  const view = (await h.claim(phone, session)).body
  assert.equal((await h.attest(phone, view)).status, 200)
  assert.equal(await passed(30, () => h.claim(phone, session)), 17)
  isLimited(await h.claim(phone, session), 'device', 3)
  assert.equal((await h.evidence(phone, view)).status, 429)
  const next = await h.create()
  assert.equal((await h.claim(other, next)).status, 200)
  assert.equal((await h.decline(other, next)).status, 200)
  const mine = await h.create()
  assert.equal((await h.decline(phone, mine)).status, 200)
})

test('a limited attestation leaves the counter, the session and the timeline as they were', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  await passed(18, () => h.claim(phone, session))
  const before = [(await h.get(session)).body.seq, await timelineOf(h, session)]
  const body = attestation(phone, view, verified_evidence, h.now())
  const refused = await h.api('POST', '/attestations', { token: phone.device_token, body })
  isLimited(refused, 'device', 3)
  assert.deepEqual([(await h.get(session)).body.seq, await timelineOf(h, session)], before)
  h.clock.advance(3_000)
  // The very same assertion: its counter was not used up.
  assert.equal(
    (await h.api('POST', '/attestations', { token: phone.device_token, body })).body.state,
    'bonded',
  )
})

const timelineOf = async (h: Harness, { id }: CreatedSession) =>
  (await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })).body.entries

test('a session gives a phone evidence six times, and a stranger’s six are not taken from it', async () => {
  await using h = await limited()
  const session = await h.create()
  const [phone, stranger] = [await h.register(), await h.register()]
  const view = await h.view(phone, session)
  assert.equal(await passed(10, () => h.evidence(stranger, view)), 6)
  assert.equal(await passed(6, () => h.evidence(phone, view)), 6)
  isLimited(await h.evidence(phone, view), 'evidence', 900)
  // No seventh in this session, at its very end; the next one has its own.
  h.clock.advance(290_000)
  assert.equal((await h.evidence(phone, view)).status, 429)
  const next = await h.create()
  assert.equal((await h.evidence(phone, await h.view(phone, next))).status, 200)
})

test('an address registers 10 devices a minute, and gets 30 challenges', async () => {
  await using h = await limited()
  const challenges: string[] = []
  const ask = async () => {
    const reply = await h.api('POST', '/devices/challenges')
    if (reply.status === 201) challenges.push(reply.body.challenge)
    return reply
  }
  const register = async () =>
    h.api('POST', '/devices', {
      body: { format: 'software', challenge: challenges.pop(), public_key: newKey().public_key },
    })
  assert.equal(await passed(40, ask), 30)
  isLimited(await ask(), 'challenge', 2)
  assert.equal(await passed(12, register), 10)
  isLimited(await register(), 'register', 6)
  h.clock.advance(6_000)
  assert.deepEqual([(await register()).status, (await register()).status], [201, 429])
})

test('a limited registration uses no challenge up', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('register=60/1') } })
  await h.register()
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const body = { format: 'software', challenge, public_key: newKey().public_key }
  assert.equal((await h.api('POST', '/devices', { body })).status, 429)
  h.clock.advance(1_000)
  assert.equal((await h.api('POST', '/devices', { body })).status, 201)
})

test('a watch token and a phone read a session 120 times a minute each, whatever the others do', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone = await h.register()
  assert.equal(await passed(130, () => watch(h, session, `bwt_${'x'.repeat(43)}`)), 120)
  assert.equal(await passed(130, () => watch(h, session)), 120)
  isLimited(await watch(h, session), 'get', 1)
  const look = () =>
    h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, { token: phone.device_token })
  assert.equal(await passed(130, look), 120)
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

test('a session that is not there is limited as one that is, header for header', async () => {
  await using h = await limited()
  const session = await h.create()
  const [mine, nobody] = [
    { ...session, watch_token: 'bwt_x' },
    { ...session, id: `sess_${'0'.repeat(22)}`, watch_token: 'bwt_x' },
  ]
  for (let call = 0; call < 125; call++) {
    const replies = [await watch(h, mine), await watch(h, nobody)]
    const [one, two] = replies.map(({ status, headers, body }) => [
      status,
      headers.ratelimit,
      headers['ratelimit-policy'],
      body.error.reason,
    ])
    assert.deepEqual(one, two)
  }
})

test('the backend’s get, delete and form-completed have buckets of their own, however much others ask', async () => {
  await using h = await limited()
  const { session, phone } = await h.reach('bonded')
  await passed(130, () => watch(h, session))
  await passed(130, () => h.view(phone, session) as never)
  assert.equal(await passed(300, () => h.get(session)), 300)
  const completed = await h.complete(session)
  assert.deepEqual([completed.status, completed.headers.ratelimit], [200, '"backend";r=999;t=1'])
  assert.equal((await h.kill(await h.create())).status, 204)
})

test('a backend that attests for a device spends nothing of the phone’s, nor of another tenant’s', async () => {
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
  assert.equal(await passed(30, () => asBackend(other.server)), 20)
  const body = attestation(phone, view, verified_evidence, h.now())
  assert.equal(
    (await h.api('POST', '/attestations', { token: h.shop.server, body })).body.state,
    'bonded',
  )
})

test('a tenant’s own limits take the place of the usual ones, for its credentials and pages alone, from the next call on', async () => {
  await using h = await limited()
  const small = await h.addTenant({
    name: 'Small',
    origins: [SHOP_ORIGIN],
    limits: parseLimits('create=60/3,get=2') ?? {},
  })
  const session = await h.create(W, small)
  const reply = await post(h, small)
  assert.equal(reply.headers['ratelimit-policy'], '"create";q=60;w=60;burst=3')
  assert.equal(await passed(10, () => post(h, small)), 1)
  const page = () =>
    h.api('GET', `/sessions/${session.id}`, {
      token: small.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  assert.equal(await passed(5, page), 2)
  assert.equal((await post(h)).headers.ratelimit, '"create";r=99;t=1')
  await h.service.store.write((tables) => tables.tenants.setLimits(small.tenant.id, {}))
  assert.equal((await post(h, small)).status, 201)
})

test('where limits are off nothing is refused, and no answer speaks of limits', async () => {
  await using h = await harness()
  assert.equal(await passed(130, () => post(h)), 130)
  assert.equal(await passed(30, () => junk(h)), 30)
  const reply = await post(h)
  assert.deepEqual(
    [reply.headers.ratelimit, reply.headers['ratelimit-policy']],
    [undefined, undefined],
  )
})

test('without a trusted proxy X-Forwarded-For is only something a client says', async () => {
  await using h = await limited()
  assert.equal(await passed(25, (at) => junk(h, { 'x-forwarded-for': `192.0.2.${at}` })), 20)
})

for (const setting of ['1', '127.0.0.0/8', '::1,127.0.0.1']) {
  test(`behind a proxy trusted as ${setting}, clients are told apart by what it wrote, and by nothing they wrote themselves`, async () => {
    await using h = await limited({ trustedProxies: parseTrustedProxies(setting) ?? 0 })
    assert.equal(await passed(25, (at) => junk(h, { 'x-forwarded-for': `192.0.2.${at}` })), 25)
    assert.equal(
      await passed(25, (at) => junk(h, { 'x-forwarded-for': `192.0.2.${at}, 198.51.100.7` })),
      20,
    )
    assert.equal(await passed(25, (at) => junk(h, { 'x-forwarded-for': `2001:db8::${at}` })), 20)
    assert.equal(
      await passed(50, (at) => junk(h, { 'x-forwarded-for': `2001:db8:1:${at}::1` })),
      40,
      'a /56 has two quotas',
    )
    assert.equal((await junk(h, { 'x-forwarded-for': '198.51.100.8:4711' })).status, 401)
    assert.equal((await junk(h, { 'x-forwarded-for': '198.51.100.7:4711' })).status, 429)
    assert.equal((await post(h)).status, 201)
  })
}

test('what is limited stands in the log with the limit, and in no timeline', async () => {
  await using h = await limited()
  const session = await h.create()
  const phone: TestPhone = await h.register()
  await passed(21, () => h.claim(phone, session))
  const lines = h.lines
    .map((line) => JSON.parse(line))
    .filter(({ reason }) => reason === 'rate_limited')
  assert.deepEqual(
    lines.map(({ status, step }) => [status, step]),
    [[429, 'device']],
  )
  assert.ok(!JSON.stringify(await timelineOf(h, session)).includes('rate_limited'))
})
