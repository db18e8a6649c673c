import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type FetchText,
  googleRevocations,
  REVOCATION_GRACE_MS,
} from '../../../../src/adapters/attestation/android/google-revocations.ts'
import { KNOWN_BAD_SERIALS } from '../../../../src/adapters/attestation/android/revocation-snapshot.ts'
import { GOOGLE_STATUS_URL, readStatusList } from '@bonded/attestation/android'
import { readVector, vectorsMissing } from '../../../../../contract/tests/vectors.ts'
import { TestClock } from '../../../../../../tests/harness/test-clock.ts'

interface ListResponse {
  status?: number
  body?: string
  headers?: Readonly<Record<string, string>>
  fails?: boolean
}

const HOUR_MS = 3_600_000

/** A revocation list server whose responses a test can change. */
function listService(response: ListResponse = {}, snapshot: ReadonlySet<string> = new Set()) {
  const clock = new TestClock()
  const given: ListResponse = {
    status: 200,
    body: '{"entries":{}}',
    headers: { 'cache-control': 'max-age=3600' },
    ...response,
  }
  const requested: string[] = []
  const failures: unknown[] = []
  const fetch: FetchText = async (url) => {
    requested.push(url)
    if (given.fails === true) throw new TypeError('fetch failed')
    const { status = 200, body = '', headers = {} } = given
    return {
      status,
      headers: { get: (name) => headers[name.toLowerCase()] ?? null },
      text: async () => body,
    }
  }
  const list = googleRevocations({
    fetch,
    clock,
    snapshot,
    onFailure: (failure) => failures.push(failure),
  })
  return {
    list,
    clock,
    given,
    requested,
    failures,
    judge: (...serials: string[]) => list.check(serials),
  }
}

const revoked = (serial: string, status = 'REVOKED') =>
  JSON.stringify({ entries: { [serial]: { status, reason: 'KEY_COMPROMISE' } } })

test('revocations: fetches the list on first use and caches it as long as Cache-Control allows', async () => {
  const { judge, clock, requested } = listService()
  assert.equal(await judge('1', 'ab'), 'good')
  clock.advance(HOUR_MS - 1)
  assert.equal(await judge('1'), 'good')
  assert.deepEqual(requested, [GOOGLE_STATUS_URL])
  clock.advance(1)
  assert.equal(await judge('1'), 'good')
  assert.equal(requested.length, 2)
})

test('revocations: shares one fetch among concurrent registrations', async () => {
  const { judge, requested } = listService()
  assert.deepEqual(
    new Set(await Promise.all(Array.from({ length: 20 }, () => judge('1')))),
    new Set(['good']),
  )
  assert.equal(requested.length, 1)
})

for (const [what, entry, serial] of [
  ['revoked', revoked('c35747a084470c3135aeefe2b8d40cd6'), 'c35747a084470c3135aeefe2b8d40cd6'],
  ['suspended', revoked('ab', 'SUSPENDED'), 'ab'],
  ['of a status that does not exist yet', revoked('ab', 'LOST'), 'ab'],
  ['written in capitals', revoked('AB'), 'ab'],
  ['padded', revoked('00ab'), 'ab'],
  ['written in decimal', revoked('6681152659205225093'), 6_681_152_659_205_225_093n.toString(16)],
] as const) {
  test(`revocations: rejects a serial that is ${what}`, async () => {
    const { judge } = listService({ body: entry })
    assert.equal(await judge('1', serial), 'revoked')
    assert.equal(await judge('1', '2'), 'good')
  })
}

for (const [what, response] of [
  ['fails', { fails: true }],
  ['answers 500', { status: 500 }],
  ['answers 304 to nothing', { status: 304 }],
  ['answers no JSON', { body: '<html>' }],
  ['answers another object', { body: '{"error":{}}' }],
  ['answers a list for its entries', { body: '{"entries":["ab"]}' }],
  ['answers an empty list for its entries', { body: '{"entries":[]}' }],
  ['answers a number for its entries', { body: '{"entries":0}' }],
  ['has no entry that can be read', { body: '{"entries":{"x y":{"status":"REVOKED"}}}' }],
  ['answers more than fits', { body: `{"entries":{}}${' '.repeat(4 * 1024 * 1024)}` }],
] as const) {
  test(`revocations: treats no serial as good while the list ${what}`, async () => {
    const { judge, given, clock, failures } = listService(response)
    assert.equal(await judge('1'), 'unknown')
    assert.equal(failures.length, 1)
    Object.assign(given, { fails: false, status: 200, body: '{"entries":{}}' })
    assert.equal(await judge('1'), 'unknown')
    clock.advance(30_000)
    assert.equal(await judge('1'), 'good')
  })
}

test('revocations: uses an old list during the grace period and treats no serial as good after it', async () => {
  const { judge, given, clock, requested } = listService({ body: revoked('ab') })
  assert.equal(await judge('1'), 'good')
  given.fails = true
  clock.advance(HOUR_MS + REVOCATION_GRACE_MS - 1)
  assert.equal(await judge('1'), 'good')
  assert.equal(await judge('ab'), 'revoked')
  clock.advance(1)
  assert.equal(await judge('1'), 'unknown')
  assert.equal(await judge('ab'), 'revoked')
  const before = requested.length
  assert.equal(await judge('1'), 'unknown')
  assert.equal(requested.length, before)
})

test('revocations: applies a newer list from the next check on', async () => {
  const { judge, given, clock } = listService()
  assert.equal(await judge('ab'), 'good')
  given.body = revoked('ab')
  clock.advance(HOUR_MS)
  assert.equal(await judge('ab'), 'good')
  // The fake response arrives at the end of this turn.
  await new Promise(setImmediate)
  assert.equal(await judge('ab'), 'revoked')
})

for (const [cacheControl, age, keptMs] of [
  ['public, max-age=86400', null, 86_400_000],
  ['max-age=31536000', null, 86_400_000],
  ['max-age=3600', '600', 3_000_000],
  ['max-age=1', null, 60_000],
  ['no-store', null, 60_000],
  ['max-age=3600, no-cache', null, 60_000],
  ['s-maxage=5', null, 3_600_000],
  [null, null, 3_600_000],
] as const) {
  test(`revocations: Cache-Control ${cacheControl} and Age ${age} cache the list for ${keptMs / 1000} s`, async () => {
    const headers = {
      ...(cacheControl === null ? {} : { 'cache-control': cacheControl }),
      ...(age === null ? {} : { age }),
    }
    const { judge, clock, requested } = listService({ headers })
    await judge('1')
    clock.advance(keptMs - 1)
    await judge('1')
    assert.equal(requested.length, 1)
    clock.advance(1)
    await judge('1')
    assert.equal(requested.length, 2)
  })
}

test('revocations: rejects the serials of the snapshot whatever the list contains', async () => {
  const { judge, given } = listService({ fails: true }, KNOWN_BAD_SERIALS)
  assert.equal(await judge('c35747a084470c3135aeefe2b8d40cd6'), 'revoked')
  given.fails = false
  assert.equal(await judge('c35747a084470c3135aeefe2b8d40cd6'), 'revoked')
})

for (const [what, malformed] of [
  ['a serial that is not a number', '"x y":{"status":"REVOKED"}'],
  ['an empty serial', '"":{"status":"REVOKED"}'],
  ['a serial that is too long', `"${'a'.repeat(65)}":{"status":"REVOKED"}`],
  ['an entry that is not an object', '"cd":"REVOKED"'],
  ['an entry that is null', '"cd":null'],
  ['an entry that is a list', '"cd":[]'],
  ['an entry without a status', '"cd":{"reason":"KEY_COMPROMISE"}'],
  ['an entry whose status is a number', '"cd":{"status":1}'],
] as const) {
  test(`revocations: skips and logs ${what} and applies the other entries`, async () => {
    const body = `{"entries":{"ab":{"status":"REVOKED"},${malformed},"ef":{"status":"REVOKED"}}}`
    const { judge, failures } = listService({ body })
    assert.equal(await judge('1'), 'good')
    assert.deepEqual([await judge('ab'), await judge('ef')], ['revoked', 'revoked'])
    assert.match(String(failures), /^Error: the revocation list has 1 malformed entries/)
    assert.equal(failures.length, 1)
  })
}

test('revocations: treats a listed serial as revoked even if its entry is malformed', async () => {
  const { judge } = listService({ body: '{"entries":{"AB":"REVOKED","cd":null}}' })
  assert.deepEqual([await judge('ab'), await judge('cd')], ['revoked', 'revoked'])
  assert.equal(await judge('1'), 'good')
})

test('revocations: rejects text of another form without throwing', () => {
  assert.deepEqual(readStatusList(revoked('00AB')), {
    serials: new Set(['ab']),
    malformedEntries: 0,
  })
  for (const text of [
    '',
    'null',
    '[]',
    '"entries"',
    '{}',
    '{"entries":null}',
    '{"entries":"ab"}',
    '{"entries":{"x":null}}',
  ]) {
    assert.equal(readStatusList(text), undefined, text)
  }
})

test('revocations: parses the recorded list, whose last entry is revoked', {
  skip: vectorsMissing,
}, () => {
  const list = readStatusList(readVector('android-key', 'status-sample.json').toString())
  assert.equal(list?.serials.size, 5)
  assert.equal(list.malformedEntries, 0)
  assert.ok(list.serials.has('cc66e9a93713b6e643b26c15879786f7'))
})
