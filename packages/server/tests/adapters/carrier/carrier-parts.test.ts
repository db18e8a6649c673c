import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import {
  booleanOf,
  deviceStatus,
  membersOf,
  swappedSince,
} from '../../../src/adapters/carrier/camara-calls.ts'
import {
  learned,
  unknown,
  type UnknownReason,
} from '../../../src/adapters/carrier/carrier-response.ts'
import { circuit } from '../../../src/adapters/carrier/circuit.ts'
import { deadlineIn } from '../../../src/adapters/carrier/deadline.ts'
import { signedJwt } from '../../../src/adapters/carrier/signed-jwt.ts'
import { ttlCache } from '../../../src/adapters/carrier/ttl-cache.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const HOUR_MS = 3_600_000
const at = (time: number) => new Date(time).toISOString()

test('each status of a CAMARA response has its reason', () => {
  for (const [status, code, reason] of [
    [400, 'OUT_OF_RANGE', 'out_of_range'],
    [400, 'INVALID_ARGUMENT', 'invalid_argument'],
    [401, undefined, 'unauthenticated'],
    [403, undefined, 'permission_denied'],
    [404, undefined, 'identifier_not_found'],
    [404, 'OUT_OF_RANGE', 'identifier_not_found'],
    [422, undefined, 'not_applicable'],
    [201, undefined, 'malformed_answer'],
    [302, undefined, 'malformed_answer'],
    [409, undefined, 'malformed_answer'],
  ] as const)
    assert.deepEqual(membersOf({ status, members: { code } }), unknown(reason), `${status} ${code}`)
  assert.deepEqual(membersOf({ status: 200, members: { a: 1 } }), learned({ a: 1 }))
  assert.deepEqual(membersOf({ status: 200, members: undefined }), unknown('malformed_answer'))
  assert.deepEqual([true, false].map(booleanOf), [learned(true), learned(false)])
  for (const value of ['true', 1, null, undefined])
    assert.deepEqual(booleanOf(value), unknown('malformed_answer'))
})

test('a swap is recent until its age reaches the limit, and never without monitoring', () => {
  const since = (members: object) => swappedSince(members as never, { maxAgeHours: 48, now: NOW })
  assert.deepEqual(since({ latestSimChange: at(NOW - 48 * HOUR_MS + 1) }), learned(true))
  assert.deepEqual(since({ latestSimChange: at(NOW - 48 * HOUR_MS) }), learned(false))
  assert.deepEqual(since({ latestSimChange: '2026-11-21T10:29:00+01:00' }), learned(true))
  assert.deepEqual(since({ latestSimChange: null, monitoredPeriod: 2 }), learned(false))
  assert.deepEqual(since({ latestSimChange: null, monitoredPeriod: 1 }), unknown('not_monitored'))
  assert.deepEqual(since({ latestSimChange: null }), unknown('not_monitored'))
  for (const members of [
    {},
    { latestSimChange: null, monitoredPeriod: 1.5 },
    { latestSimChange: null, monitoredPeriod: '2' },
    { latestSimChange: '2026-11-21T09:29:00' },
    { latestSimChange: '2026-11-21' },
    { latestSimChange: '2026-13-21T09:29:00Z' },
    { latestSimChange: NOW },
  ])
    assert.deepEqual(since(members), unknown('malformed_answer'), JSON.stringify(members))
})

test('a phone is active by a report of the last fifteen minutes alone', () => {
  const status = (time: number | string | undefined, reachable: unknown = true) =>
    deviceStatus({ reachable, lastStatusTime: typeof time === 'number' ? at(time) : time }, NOW)
  assert.deepEqual(status(NOW - 15 * 60_000), learned('active'))
  assert.deepEqual(status(NOW - 15 * 60_000 - 1), unknown('stale_status'))
  // The carrier's clock may be a minute ahead.
  assert.deepEqual(status(NOW + 60_000), learned('active'))
  assert.deepEqual(status(NOW + 60_001), unknown('stale_status'))
  assert.deepEqual(status(NOW - 30 * 24 * HOUR_MS, false), learned('inactive'))
  for (const [time, reachable] of [
    [NOW, 'true'],
    [NOW, undefined],
    [undefined, true],
    ['now', false],
  ] as const)
    assert.deepEqual(
      status(time, reachable === undefined ? null : reachable),
      unknown('malformed_answer'),
    )
})

test('five outages in a row open a circuit for half a minute, and one response closes it', () => {
  const outages: readonly UnknownReason[] = [
    'timeout',
    'unreachable',
    'server_error',
    'malformed_answer',
    'failed',
  ]
  const clock = new TestClock()
  const guard = circuit(clock)
  const call = (reason: UnknownReason) => {
    const isAdmitted = guard.admits()
    if (isAdmitted) guard.record(unknown(reason))
    return isAdmitted
  }
  for (const reason of outages.slice(0, 4)) assert.ok(call(reason))
  // What the carrier says of one user shows that it is there.
  for (const reason of ['permission_denied', 'token_refused', 'not_monitored'] as const) {
    assert.ok(call(reason))
    for (const outage of outages.slice(0, 4)) assert.ok(call(outage))
  }
  assert.ok(call(outages[4]!))
  clock.advance(29_999)
  assert.equal(guard.admits(), false)
  clock.advance(1)
  // One call at a time finds out whether the carrier is back. Its failure opens the circuit again.
  assert.equal(guard.admits(), true)
  assert.equal(guard.admits(), false)
  guard.record(unknown('timeout'))
  clock.advance(29_999)
  assert.equal(guard.admits(), false)
  clock.advance(1)
  assert.equal(guard.admits(), true)
  guard.record(learned(true))
  for (const reason of outages.slice(0, 4)) assert.ok(call(reason))
  assert.ok(guard.admits())
})

test('a carrier that is called too often is left alone for as long as it says, at most ten minutes', () => {
  for (const [retryAfterMs, waitsMs] of [
    [undefined, 30_000],
    [2_000, 2_000],
    [600_000, 600_000],
    [601_000, 600_000],
  ] as const) {
    const clock = new TestClock()
    const guard = circuit(clock)
    assert.ok(guard.admits())
    guard.record({ ...unknown('rate_limited'), ...(retryAfterMs && { retryAfterMs }) })
    clock.advance(waitsMs - 1)
    assert.equal(guard.admits(), false, String(retryAfterMs))
    clock.advance(1)
    assert.equal(guard.admits(), true)
  }
})

test('a deadline ends what is pending, and no wait passes it', async () => {
  const clock = new TestClock()
  const deadline = deadlineIn(clock, 2_000)
  const { expiresAt, signal } = deadline
  assert.equal(expiresAt, clock.now() + 2_000)
  assert.deepEqual(await deadline.race(Promise.resolve(learned(1))), learned(1))
  assert.deepEqual(await deadline.race(Promise.reject(new Error('x'))), unknown('failed'))
  assert.equal(await deadline.waitUntil(expiresAt), false)
  const waited = deadline.waitUntil(expiresAt - 1)
  const pending = deadline.race(new Promise<never>(() => undefined))
  clock.advance(1_999)
  assert.equal(await waited, true)
  assert.equal(signal.aborted, false)
  clock.advance(1)
  assert.deepEqual([await pending, signal.aborted], [unknown('timeout'), true])
  const early = deadlineIn(clock, 2_000)
  early[Symbol.dispose]()
  assert.equal(early.signal.aborted, true)
})

test('a cached value lasts for its time, and one without time is not kept', () => {
  const clock = new TestClock()
  const cache = ttlCache<string>(clock)
  cache.set('a', 'A', 1_000)
  cache.set('b', 'B', 2_000)
  cache.set('c', 'C', 0)
  cache.set('d', 'D', -1)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((name) => cache.get(name)),
    ['A', 'B', undefined, undefined],
  )
  clock.advance(999)
  assert.equal(cache.get('a'), 'A')
  clock.advance(1)
  assert.deepEqual(
    ['a', 'b'].map((name) => cache.get(name)),
    [undefined, 'B'],
  )
  cache.delete('b')
  assert.equal(cache.get('b'), undefined)
})

test('an assertion is signed by the key of its kind, for two minutes from ten seconds ago', async () => {
  const claims = { sub: 'tel:+34', aud: 'https://token.example', scope: 'dpv:A b:c' }
  const jtis = new Set<string>()
  for (const [alg, { privateKey }, keyId] of [
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'k7'],
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2_048 }), undefined],
  ] as const) {
    const jwt = await signedJwt({ clientId: 'bonded', key: privateKey, keyId }, claims, NOW + 999)
    const [head = '', body = '', signature = ''] = jwt.split('.')
    const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())
    assert.deepEqual(read(head), { alg, typ: 'JWT', ...(keyId && { kid: keyId }) })
    const { jti, ...rest } = read(body)
    jtis.add(jti)
    const iat = NOW / 1_000 - 10
    assert.deepEqual(rest, { iss: 'bonded', ...claims, iat, exp: iat + 120 })
    const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' as const }
    const signed = Buffer.from(`${head}.${body}`)
    assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')))
  }
  assert.equal(jtis.size, 2)
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { sub, aud } = claims
  const own = await signedJwt({ clientId: 'bonded', key, keyId: undefined }, { sub, aud }, NOW)
  assert.ok(!('scope' in JSON.parse(Buffer.from(own.split('.')[1] ?? '', 'base64url').toString())))
})
