import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { PhoneError } from '../src/index.ts'
import { harness } from './harness.ts'

const bodiesTo = (service: ReturnType<typeof harness>['service'], end: string) =>
  service.requests.filter(({ path }) => path.endsWith(end)).map(({ raw }) => raw)

test('repeats an assertion with the same bytes after a lost response', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/attestations', 'no_response', 'no_response')
  const bonded = await phone.approve(claimed, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const bodies = bodiesTo(service, '/attestations')
  assert.equal(bodies.length, 3)
  assert.equal(new Set(bodies).size, 1)
  assert.deepEqual(service.counters, [1, 2])
})

test('treats an operation that the service did not finish in time like a lost response', async () => {
  const { service, phone, strong } = harness()
  service.fail('/claim', 'timed_out')
  service.fail('/evidence', 'timed_out')
  service.fail('/attestations', 'timed_out')
  const claimed = await phone.claim(service.payload)
  const bonded = await phone.approve(claimed, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  assert.equal(new Set(bodiesTo(service, '/evidence')).size, 2)
  const assertions = bodiesTo(service, '/attestations')
  assert.equal(assertions.length, 2)
  assert.equal(new Set(assertions).size, 1)
})

test('bonds with the repetition of an assertion that never arrived', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/attestations', 'unsent')
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
  assert.equal(new Set(bodiesTo(service, '/attestations')).size, 1)
})

test('finds a step-up whose response was lost by reading the session', async () => {
  const { service, phone, weak, strong } = harness()
  service.require = ['local_auth']
  const claimed = await phone.claim(service.payload)
  service.fail('/attestations', 'no_response')
  const bonded = await phone.approve(claimed, {
    gather: ({ attempts_left }) => (attempts_left === undefined ? weak() : strong()),
  })
  assert.equal(bonded.session.state, 'bonded')
  assert.deepEqual(service.counters, [1, 2, 3, 4])
})

test('repeats an evidence request with a new signature and a higher counter if its response was lost', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/evidence', 'no_response')
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
  assert.deepEqual(service.counters, [1, 2, 3])
})

test('after an overload, signs evidence anew only where it has a passport, which waits once it is counted', async () => {
  for (const [passport, distinct] of [
    [undefined, 1],
    [() => ({ sod: 'AAAA', dg1: 'AAAA' }), 2],
  ] as const) {
    const { service, phone, strong } = harness()
    const claimed = await phone.claim(service.payload)
    service.fail('/evidence', { status: 503, reason: 'overloaded' })
    const gather = () => ({ ...strong(), ...(passport && { passport }) })
    assert.equal((await phone.approve(claimed, { gather })).session.state, 'bonded')
    const bodies = bodiesTo(service, '/evidence')
    assert.deepEqual([bodies.length, new Set(bodies).size], [2, distinct])
  }
})

test('reads a passport once for the session’s nonce, also after a lost response', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/evidence', 'no_response', 'unsent')
  const challenges: Uint8Array[] = []
  const passport = (challenge: Uint8Array) => {
    challenges.push(challenge)
    return { sod: 'AAAA', dg1: 'AAAA' }
  }
  const bonded = await phone.approve(claimed, { gather: () => ({ ...strong(), passport }) })
  assert.equal(bonded.session.state, 'bonded')
  assert.deepEqual(
    challenges.map((challenge) => Buffer.from(challenge)),
    [hash('sha256', `bond-aa/v1${claimed.session.nonce}`, 'buffer').subarray(0, 8)],
  )
  for (const body of bodiesTo(service, '/evidence'))
    assert.deepEqual(JSON.parse(body ?? '').signals.passport, { sod: 'AAAA', dg1: 'AAAA' })
})

test('finds a decline whose response was lost by reading the session', async () => {
  const { service, phone } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/decline', 'no_response')
  assert.equal((await phone.decline(claimed, { reason: 'user_declined' })).session.state, 'killed')
})

test('repeats a claim whose response was lost', async () => {
  const { service, phone } = harness()
  service.fail('/claim', 'no_response', 'unsent')
  assert.equal((await phone.claim(service.payload)).session.state, 'pending')
})

test('throws unreachable after four attempts without a network', async () => {
  const { service, phone, clock } = harness()
  service.fail('/claim', 'unsent', 'unsent', 'unsent', 'unsent')
  await assert.rejects(
    phone.claim(service.payload),
    (error) => error instanceof PhoneError && error.code === 'unreachable',
  )
  assert.deepEqual(clock.waits, [250, 1_000, 3_000])
})

test('retries after at least the wait that a busy service requests', async () => {
  const { service, phone, clock } = harness()
  service.fail(
    '/claim',
    { status: 429, reason: 'rate_limited', retry_after_s: 4 },
    { status: 503, reason: 'overloaded' },
  )
  await phone.claim(service.payload)
  const [requested = 0, own] = clock.waits
  assert.ok(requested >= 4_000 && requested <= 6_000, `${requested} ms`)
  assert.equal(own, 1_000)
})

test('repeats a request that did not arrive in time, as its reason allows', async () => {
  const { service, phone, clock } = harness()
  // 408 is what a proxy says.
  service.fail(
    '/claim',
    { status: 400, reason: 'request_timeout' },
    { status: 408, reason: 'request_timeout' },
  )
  await phone.claim(service.payload)
  assert.deepEqual(clock.waits, [250, 1_000])
})

test('gives up when the service requests a wait of one minute', async () => {
  const { service, phone, clock } = harness()
  service.fail('/claim', { status: 429, reason: 'rate_limited', retry_after_s: 60 })
  await assert.rejects(
    phone.claim(service.payload),
    (error) =>
      error instanceof PhoneError && error.status === 429 && error.retry_after_ms === 60_000,
  )
  assert.deepEqual(clock.waits, [])
})

test('does not repeat a rejected request', async () => {
  const { service, phone } = harness()
  service.fail('/claim', { status: 400, reason: 'session_claimed' })
  await assert.rejects(
    phone.claim(service.payload),
    (error) => error instanceof PhoneError && error.reason === 'session_claimed',
  )
  assert.equal(bodiesTo(service, '/claim').length, 1)
})

test('claims again a session that it holds, in whatever state it is', async () => {
  const { service, phone, strong, weak } = harness()
  service.require = ['local_auth']
  const claimed = await phone.claim(service.payload)
  const stop = new Error('the app restarts during the step-up')
  await assert.rejects(
    phone.approve(claimed, {
      gather: ({ attempts_left }) => {
        if (attempts_left !== undefined) throw stop
        return weak()
      },
    }),
    stop,
  )
  const again = await phone.claim(service.payload)
  assert.equal(again.session.state, 'step_up_required')
  const bonded = await phone.approve(again, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
})
