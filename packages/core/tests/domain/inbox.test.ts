import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AskedSince,
  inboxWait,
  isWithdrawn,
  type PastRequest,
  pauseUntil,
  servesInboxFrom,
} from '../../src/domain/inbox.ts'
import { CREATED_AT as NOW, DEVICE_ID, OTHER_DEVICE_ID } from '../records.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A request that ended without an answer a week ago, and then with these members. */
function request(members: Partial<PastRequest> = {}): PastRequest {
  const at = NOW - 7 * DAY
  return {
    caller: 'own',
    createdAt: at,
    expiresAt: at + DAY,
    bondedAt: null,
    endedAt: at + DAY,
    endedReason: null,
    deviceId: DEVICE_ID,
    ...members,
  }
}

const open = (expiresAt: number, members: Partial<PastRequest> = {}) =>
  request({ createdAt: NOW - 2 * HOUR, expiresAt, endedAt: null, ...members })

/** Why the credential `own` must wait, and for how long; undefined if it need not. */
function waitOf(past: readonly PastRequest[], asked: Partial<AskedSince> = {}) {
  const own = past.filter(({ caller, bondedAt }) => caller === 'own' && bondedAt === null)
  const counted = { approval: own.length, answer: 0, ...asked }
  const wait = inboxWait({ caller: 'own', past, asked: counted }, NOW)
  return wait && [wait.reason, wait.retryAfterMs]
}

test('five requests of a tenant wait at once, and four of a credential', () => {
  const ends = [3, 2, 5, 4].map((hours) => open(NOW + hours * HOUR))
  assert.equal(waitOf(ends.slice(0, 3)), undefined)
  // The next one is due when the first of its own ends, and then waits a minute after that end.
  assert.deepEqual(waitOf(ends), ['inbox_full', 2 * HOUR + MINUTE])
  const other = (hours: number) => open(NOW + hours * HOUR, { caller: 'other' })
  assert.equal(waitOf([other(1), other(2), other(3), other(4)]), undefined)
  assert.deepEqual(waitOf([4, 3, 6, 5, 7].map(other)), ['inbox_full', 3 * HOUR])
})

test('after four requests without an answer a credential has one place', () => {
  const one = [open(NOW + HOUR)]
  assert.equal(waitOf(one, { approval: 1, answer: 4 }), undefined)
  assert.equal(waitOf(one, { approval: 1, answer: 5 })?.[0], 'inbox_full')
})

test('a credential asks five times a minute and twenty times an hour', () => {
  const approved = (ago: number) =>
    request({ createdAt: NOW - ago, bondedAt: NOW - ago, endedAt: NOW - ago })
  const seconds = (...ago: number[]) => ago.map((each) => approved(each * 1_000))
  assert.equal(waitOf(seconds(5, 10, 20, 30)), undefined)
  assert.deepEqual(waitOf(seconds(5, 10, 20, 30, 40)), ['rate_limited', 20_000])
  assert.equal(waitOf(seconds(5, 10, 20, 30, 60)), undefined)
  const minutes = (count: number) =>
    Array.from({ length: count }, (_, index) => approved((index + 1) * 2.5 * MINUTE))
  assert.equal(waitOf(minutes(19)), undefined)
  assert.deepEqual(waitOf(minutes(20)), ['rate_limited', 10 * MINUTE])
})

test('each request in a row without an approval makes the next one wait longer', () => {
  const missed = (ago: number) =>
    request({ createdAt: NOW - ago - MINUTE, expiresAt: NOW - ago, endedAt: NOW - ago })
  const waits = [1, 2, 3, 4, 5, 6, 7].map((count) => {
    const past = Array.from({ length: count }, (_, index) => missed(1_000 + index * 5 * MINUTE))
    return waitOf(past)
  })
  assert.deepEqual(
    waits,
    [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 4 * HOUR, DAY, DAY].map((ms) => [
      'rate_limited',
      ms - 1_000,
    ]),
  )
  // An approval ends the row, and a withdrawn request is in none.
  const approved = request({ bondedAt: NOW - HOUR, endedAt: NOW - HOUR, createdAt: NOW - 2 * HOUR })
  assert.deepEqual(waitOf([missed(1_000), approved, missed(DAY)], { approval: 1 }), [
    'rate_limited',
    MINUTE - 1_000,
  ])
  const withdrawn = { ...missed(1_000), endedReason: 'killed_by_tenant', deviceId: null } as const
  assert.equal(waitOf([withdrawn], { approval: 0 }), undefined)
  // The count of those that are not stored any more makes the wait longer.
  assert.deepEqual(waitOf([missed(1_000)], { approval: 3 }), ['rate_limited', 15 * MINUTE - 1_000])
})

test('a request is withdrawn that no phone had opened, or that another user has decided', () => {
  const cases = [
    ['killed_by_tenant', null, null, true],
    ['killed_by_tenant', DEVICE_ID, null, false],
    ['decided', OTHER_DEVICE_ID, null, true],
    ['decided', OTHER_DEVICE_ID, NOW, false],
    ['killed_by_operator', null, null, false],
    ['user_declined', null, null, false],
    [null, null, null, false],
  ] as const
  for (const [endedReason, deviceId, bondedAt, expected] of cases)
    assert.equal(isWithdrawn({ endedReason, deviceId, bondedAt }), expected, `${endedReason}`)
})

test('the first report pauses a tenant for an hour, and each further one for a day', () => {
  assert.deepEqual(
    [0, 1, 2, 9].map((reports) => pauseUntil(reports, NOW) - NOW),
    [HOUR, DAY, DAY, DAY],
  )
})

test('a phone serves what is newer than its key, and an added one what is 72 hours newer', () => {
  assert.equal(servesInboxFrom({ createdAt: NOW, addedBy: null }), NOW + 1)
  assert.equal(servesInboxFrom({ createdAt: NOW, addedBy: OTHER_DEVICE_ID }), NOW + 72 * HOUR)
})
