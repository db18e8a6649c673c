import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { camaraCarrier } from '../../src/adapters/carrier/camara.ts'
import { prometheusMeter } from '../../src/adapters/meter/prometheus-meter.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { startFakeCarrier, PATHS } from '../adapters/carrier/fake-carrier/fake-carrier.ts'
import { NUMBER, SIM_TOKEN, UNKNOWN, WELL } from '../adapters/carrier/fake-carrier/scene.ts'
import { type Harness, harness, WORKFLOWS } from '../../../../tests/harness/harness.ts'
import { carriedSignals } from '../../../../tests/harness/phone.ts'
import { TestClock } from '../../../../tests/harness/test-clock.ts'

const TRUSTED = { name: 'trusted_number', actions: ['act'], require: ['carrier' as const] }

/** A service whose carrier knows one number. */
async function withCarrier(options: Parameters<typeof harness>[0] = {}) {
  // The carrier lives on the harness's clock, which is there only once the harness is.
  const late = { clock: new TestClock() }
  const fakeCarrier = await startFakeCarrier({
    clock: {
      now: () => late.clock.now(),
      elapsed: () => late.clock.elapsed(),
      schedule: (at, callback) => late.clock.schedule(at, callback),
    },
  })
  fakeCarrier.subscribers.set(NUMBER, {})
  fakeCarrier.sims.set(SIM_TOKEN, NUMBER)
  const h = await harness({
    workflows: [...WORKFLOWS, TRUSTED],
    ...options,
    carrier: (clock) => {
      late.clock = clock
      return camaraCarrier([fakeCarrier.settings], { clock })
    },
  })
  return {
    h,
    fakeCarrier,
    async [Symbol.asyncDispose]() {
      await h[Symbol.asyncDispose]()
      await fakeCarrier[Symbol.asyncDispose]()
    },
  }
}

const withToken = (h: Harness) => ({
  ...carriedSignals(h.clock.now()),
  carrier: { operator_token: SIM_TOKEN },
})

async function claimed(h: Harness, body: object) {
  const session = await h.create(body)
  const phone = await h.register()
  await h.claim(phone, session)
  return { session, phone, seen: await h.view(phone, session) }
}

const timelineOf = async (h: Harness, session: { id: string }) =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).body.entries

test('adds carrier evidence to a session with a phone number, and reports it in the bond', async () => {
  await using setting = await withCarrier()
  const { h } = setting
  const { session, phone, seen } = await claimed(h, {
    workflow: TRUSTED.name,
    phone_number: NUMBER,
  })
  const evidence = await h.evidence(phone, seen, withToken(h))
  assert.deepEqual(evidence.body.verified_evidence.carrier, { ...WELL, checked_at: h.now() })
  const bonded = await h.attest(phone, seen, { signals: withToken(h) })
  assert.equal(bonded.body.state, 'bonded')
  const { source: _, ...finding } = WELL
  assert.deepEqual((await h.get(session)).body.verification.carrier, finding)
  assert.equal(
    (await timelineOf(h, session)).some(({ kind }: { kind: string }) => kind === 'carrier'),
    false,
  )
})

test('does not query the carrier without a phone number, whatever the phone sends', async () => {
  await using setting = await withCarrier()
  const { h, fakeCarrier } = setting
  const { phone, seen } = await claimed(h, { workflow: 'credit_application' })
  const { carrier } = (await h.evidence(phone, seen, withToken(h))).body.verified_evidence
  assert.deepEqual(carrier, {
    number_verified: false,
    sim_swap_recent: false,
    device_status: 'unknown',
    source: 'none',
    checked_at: h.now(),
  })
  assert.equal(fakeCarrier.requests.length, 0)
})

test('requires a step-up after a recent SIM swap if the workflow requires the carrier, else only reports it', async () => {
  await using setting = await withCarrier()
  const { h, fakeCarrier } = setting
  fakeCarrier.subscribers.set(NUMBER, { swapped: true })
  const demanded = await claimed(h, { workflow: TRUSTED.name, phone_number: NUMBER })
  const missed = await h.attest(demanded.phone, demanded.seen, { signals: withToken(h) })
  assert.equal(missed.body.state, 'step_up_required')
  assert.deepEqual(missed.body.step_up, {
    required: ['carrier'],
    attempts_left: 2,
    reasons: ['sim_swap_recent'],
  })

  const free = await claimed(h, { workflow: 'credit_application', phone_number: NUMBER })
  assert.equal(
    (await h.attest(free.phone, free.seen, { signals: withToken(h) })).body.state,
    'bonded',
  )
  assert.equal((await h.get(free.session)).body.verification.carrier.sim_swap_recent, true)
})

test('bonds a phone that sends its carrier token at the step-up', async () => {
  await using setting = await withCarrier()
  const { h } = setting
  const { session, phone, seen } = await claimed(h, {
    workflow: TRUSTED.name,
    phone_number: NUMBER,
  })
  const missed = await h.attest(phone, seen)
  assert.deepEqual(missed.body.step_up, {
    required: ['carrier'],
    attempts_left: 2,
    reasons: ['number_not_verified'],
  })
  const stepping = await h.view(phone, { id: session.id, nonce: missed.body.nonce })
  assert.equal((await h.attest(phone, stepping, { signals: withToken(h) })).body.state, 'bonded')
})

test('waits two seconds for a carrier that hangs, reports the unfavorable value, and notes the reason', async () => {
  await using setting = await withCarrier()
  const { h, fakeCarrier } = setting
  fakeCarrier.moods.set(PATHS.token, 'hang')
  const { session, phone, seen } = await claimed(h, {
    workflow: 'credit_application',
    phone_number: NUMBER,
  })
  const asking = h.evidence(phone, seen, withToken(h))
  await fakeCarrier.received(PATHS.token, 3)
  h.clock.advance(2_000)
  const { verified_evidence } = (await asking).body
  assert.deepEqual(verified_evidence.carrier, { ...UNKNOWN, checked_at: h.now() })
  const noted = (await timelineOf(h, session)).filter(
    ({ kind }: { kind: string }) => kind === 'carrier',
  )
  assert.deepEqual(
    noted.map(({ reason }: { reason: string }) => reason),
    ['number_verification:timeout sim_swap:timeout device_status:timeout'],
  )
})

test('never stores or prints a phone number in logs, metrics, timelines, responses or the database', async () => {
  using meter = prometheusMeter({ version: '0.0.0' })
  await using setting = await withCarrier({ meter })
  const { h, fakeCarrier } = setting
  const responses: string[] = []
  // A valid response, and a rejection in the carrier's own words, which hold the number.
  for (const mood of [undefined, { status: 403, code: 'PERMISSION_DENIED' }] as const) {
    if (mood)
      for (const path of [PATHS.verify, PATHS.check, PATHS.reach]) fakeCarrier.moods.set(path, mood)
    const body = { workflow: TRUSTED.name, phone_number: NUMBER }
    const twice = await h.api('POST', '/sessions', {
      token: h.shop.server,
      body,
      headers: { 'idempotency-key': `once-${mood?.code}` },
    })
    const again = await h.api('POST', '/sessions', {
      token: h.shop.server,
      body,
      headers: { 'idempotency-key': `once-${mood?.code}` },
    })
    assert.equal(twice.body.id, again.body.id)
    const { session, phone, seen } = await claimed(h, body)
    const attested = await h.attest(phone, seen, { signals: withToken(h) })
    const timeline = await timelineOf(h, session)
    responses.push(
      twice.text,
      again.text,
      attested.text,
      JSON.stringify(timeline),
      (await h.get(session)).text,
      (await h.kill(session)).text,
    )
    h.clock.advance(61_000)
  }
  const digits = NUMBER.slice(1)
  const figures = await meter.read()
  const files = ['', '-wal', '-shm']
    .map((end) => h.databaseFile + end)
    .filter((file) => existsSync(file))
  assert.ok(
    responses.length === 12 && h.lines.length > 10 && figures.length > 1000 && files.length > 1,
  )
  for (const text of [...responses, ...h.lines, figures]) assert.ok(!text.includes(digits), text)
  for (const file of files) assert.equal(readFileSync(file).indexOf(digits), -1, file)
})

test('deletes the encrypted number at the bond, at the end and at the expiry', async () => {
  await using setting = await withCarrier()
  const { h } = setting
  const sealed = async (session: { id: string }) =>
    (await h.service.store.read((tables) => tables.sessions.find(session.id as never)))
      ?.sealedPhoneNumber
  const body = { workflow: 'credit_application', phone_number: NUMBER }
  const bonding = await claimed(h, body)
  assert.match(String(await sealed(bonding.session)), /^[\w-]{40,}$/)
  await h.attest(bonding.phone, bonding.seen, { signals: withToken(h) })
  assert.equal(await sealed(bonding.session), null)
  const killed = await h.create(body)
  await h.kill(killed)
  assert.equal(await sealed(killed), null)
  const expired = await h.create(body)
  h.clock.advance(300_000)
  await expireSessions(h.service)
  assert.equal(await sealed(expired), null)
})

test('decrypts a number only for its own session, and only unchanged', async () => {
  await using h = await harness()
  const [one, other] = [await h.create(), await h.create()]
  const sealed = h.service.keys.sealNumber('k1', one.id as never, NUMBER)
  assert.equal(h.service.keys.openNumber('k1', one.id as never, sealed).reveal(), NUMBER)
  assert.notEqual(h.service.keys.sealNumber('k1', one.id as never, NUMBER), sealed)
  assert.throws(() => h.service.keys.openNumber('k1', other.id as never, sealed))
  assert.throws(() =>
    h.service.keys.openNumber(
      'k1',
      one.id as never,
      (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1),
    ),
  )
})
