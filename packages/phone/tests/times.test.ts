import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { serverMsAt, syncTo, timestampAt } from '../src/server-time.ts'
import { jumpingClock } from './clocks.ts'
import { harness } from './harness.ts'

const HOUR_MS = 3_600_000
type Sent = { issued_at: string; signals?: { local_auth: { verified_at: string } } }

test('uses the service’s times with any error of the phone’s clock', async () => {
  for (const startMs of [0, -HOUR_MS * 24 * 365, Date.parse('2099-01-01T00:00:00Z'), 0.25]) {
    const { service, phone, strong } = harness({ clock: jumpingClock(startMs) })
    await phone.approve(await phone.claim(service.payload), { gather: strong })
    const evidence = service.requests.find(({ path }) => path.endsWith('/evidence'))?.body as Sent
    assert.equal(evidence.issued_at, '2026-11-21T09:30:00.000Z')
    assert.equal(evidence.signals?.local_auth.verified_at, '2026-11-21T09:30:00.000Z')
  }
})

test('the time that has passed on the phone is added', async () => {
  const { service, phone, clock, strong } = harness()
  const claimed = await phone.claim(service.payload)
  clock.advance(20_000)
  service.nowMs += 20_000
  await phone.approve(claimed, { gather: strong })
  const assertion = service.requests.find(({ path }) => path.endsWith('/attestations'))
    ?.body as Sent
  assert.equal(assertion.issued_at, '2026-11-21T09:30:20.000Z')
})

test('a phone whose clock stopped signs once more with the service’s time', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.nowMs += 200_000
  const bonded = await phone.approve(claimed, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const [first, second] = service.requests
    .filter(({ path }) => path.endsWith('/evidence'))
    .map(({ body }) => body as Sent)
  assert.equal(first?.issued_at, '2026-11-21T09:30:00.000Z')
  assert.equal(second?.issued_at, '2026-11-21T09:33:20.000Z')
  // The user was verified just now, whatever time the phone assumed.
  assert.equal(second?.signals?.local_auth.verified_at, '2026-11-21T09:33:20.000Z')
  // The rejected request had used up counter 1.
  assert.deepEqual(service.counters, [2, 3])
})

test('reuses current evidence when only the assertion’s time is rejected', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.evidenceTtlMs = 250_000
  service.fail('/attestations', { status: 400, reason: 'issued_at_out_of_range' })
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
  assert.equal(service.requests.filter(({ path }) => path.endsWith('/evidence')).length, 1)
  assert.deepEqual(service.counters, [1, 3])
})

test('signs at most two times after the service rejects the time', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  const no = { status: 400, reason: 'issued_at_out_of_range' } as const
  service.fail('/attestations', no, no, no)
  await assert.rejects(phone.approve(claimed, { gather: strong }), {
    reason: 'issued_at_out_of_range',
  })
  assert.equal(service.requests.filter(({ path }) => path.endsWith('/attestations')).length, 2)
})

test('fetches expired evidence again before signing', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.evidenceTtlMs = 4_000
  const bonded = await phone.approve(claimed, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  assert.equal(service.requests.filter(({ path }) => path.endsWith('/evidence')).length, 2)
})

test('fetches evidence again once if the service rejects it as expired', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/attestations', { status: 400, reason: 'evidence_expired' })
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
  assert.equal(service.requests.filter(({ path }) => path.endsWith('/evidence')).length, 2)
})

test('the synchronized time advances with the phone’s clock', () => {
  const anyMs = fc.integer({ min: -1e12, max: 1e12 })
  fc.assert(
    fc.property(
      fc.integer({ min: 1e12, max: 2e12 }),
      anyMs,
      fc.nat(1e9),
      (serverMs, phoneMs, elapsed) => {
        const server_time = new Date(serverMs).toISOString()
        const time = syncTo(server_time, { now: () => phoneMs, schedule: () => () => {} })
        assert.equal(serverMsAt(time, phoneMs + elapsed), serverMs + elapsed)
        assert.match(
          timestampAt(time, phoneMs + elapsed),
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
        )
      },
    ),
  )
})
