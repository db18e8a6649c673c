import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFor } from '../../../../tests/random.ts'
import {
  acceptedIndex,
  challengeOf,
  claimedNonceExpiresAt,
  isLatestStepNonce,
  lastAcceptedIndex,
  nonceStanding,
  shownChallenge,
  stepNonce,
} from '../../src/domain/challenge.ts'
import { CLAIMED_NONCE_TTL_MS } from '../../src/domain/lifetimes.ts'
import type { Session } from '../../src/domain/session.ts'
import { CREATED_AT, DEVICE_ID, NONCES, sessionWith } from '../records.ts'

const { challengeTtlMs: T, sessionTtlMs, expiresAt } = sessionWith()
const COUNT = sessionTtlMs / T
const at = (after: number) => ({ now: CREATED_AT + after, nonces: NONCES })
const nonce = (index: number) => NONCES.nonceAt(index)
const claimed = (index: number, claimedAt = CREATED_AT + index * T): Session =>
  sessionWith({ deviceId: DEVICE_ID, claimedNonce: nonce(index), claimedAt })
const standing = (
  session: Session,
  presented: string,
  after: number,
  of: { pinned?: boolean; forClaim?: boolean } = {},
) => nonceStanding(session, presented, { ...at(after), pinned: false, forClaim: false, ...of })

test('each nonce is shown for one period, and the periods follow one another without a gap', () => {
  const session = sessionWith()
  for (let index = 0; index < COUNT; index++)
    for (const [after, shown] of [
      [index * T, index],
      [(index + 1) * T - 1, index],
    ] as const)
      assert.equal(shownChallenge(session, CREATED_AT + after).index, shown)
})

test('a nonce is accepted from its first moment until the end of the next period', () => {
  const session = sessionWith()
  for (let index = 1; index < COUNT; index++) {
    const accepts = (after: number) => acceptedIndex(session, nonce(index), at(after)) === index
    const end = Math.min((index + 2) * T, sessionTtlMs)
    assert.deepEqual(
      [index * T - 1, index * T, end - 1, end].map(accepts),
      [false, true, true, false],
      nonce(index),
    )
    const { rotatesAt, expiresAt: until } = challengeOf(session, index)
    assert.equal(rotatesAt, CREATED_AT + (index + 1) * T)
    assert.equal(until, CREATED_AT + end)
  }
})

test('a clock before the creation shows the first nonce, which is accepted for two periods', () => {
  const accepts = (after: number) => acceptedIndex(sessionWith(), nonce(0), at(after)) === 0
  assert.deepEqual([-1_000, 0, 2 * T - 1, 2 * T].map(accepts), [true, true, true, false])
  assert.equal(shownChallenge(sessionWith(), CREATED_AT - 1_000).index, 0)
})

test('no time has more than two accepted nonces', () => {
  const random = randomFor('times of a challenge')
  const session = sessionWith()
  for (let round = 0; round < 200; round++) {
    const after = random(sessionTtlMs)
    const accepted = Array.from({ length: COUNT + 2 }, (_, index) => index).filter(
      (index) => acceptedIndex(session, nonce(index), at(after)) !== undefined,
    )
    const shown = shownChallenge(session, CREATED_AT + after).index
    assert.deepEqual(accepted, shown === 0 ? [0] : [shown - 1, shown])
  }
})

test('a session that does not divide into whole periods ends its last code with itself', () => {
  const session = sessionWith({ challengeTtlMs: 7_000, sessionTtlMs: 60_000 })
  const last = challengeOf(session, 8)
  assert.deepEqual([last.rotatesAt, last.expiresAt], [CREATED_AT + 60_000, CREATED_AT + 60_000])
  assert.equal(shownChallenge(session, CREATED_AT + 1e9).index, 8)
})

test('outside of `pending` the challenge stays at the last one that was shown', () => {
  const session = sessionWith({ state: 'killed', pendingUntil: CREATED_AT + 2 * T })
  assert.equal(shownChallenge(session, expiresAt + 1e6).index, 2)
  assert.equal(acceptedIndex(session, nonce(2), at(2 * T)), undefined)
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => lastAcceptedIndex(session, nonce(index), at(5 * T))),
    [undefined, 1, 2, undefined],
  )
})

test('the step nonce is the one that was claimed until an assertion misses the policy', () => {
  const session = claimed(1)
  assert.equal(stepNonce(session, NONCES), nonce(1))
  assert.equal(stepNonce(sessionWith(), NONCES), NONCES.stepNonceAt(0))
  for (const n of [1, 2])
    assert.equal(stepNonce({ ...session, validAssertions: n }, NONCES), NONCES.stepNonceAt(n))
})

test('the latest step nonces are those of the last assertion and of the next one', () => {
  const latest = (validAssertions: number) =>
    [0, 1, 2, 3].filter((n) =>
      isLatestStepNonce(sessionWith({ validAssertions }), NONCES.stepNonceAt(n), NONCES),
    )
  assert.deepEqual([0, 1, 2, 3].map(latest), [[], [1], [1, 2], [2, 3]])
})

test('a claimed nonce works for two minutes, or until its session ends', () => {
  assert.equal(claimedNonceExpiresAt(sessionWith()), null)
  assert.equal(claimedNonceExpiresAt(claimed(0)), CREATED_AT + CLAIMED_NONCE_TTL_MS)
  assert.equal(claimedNonceExpiresAt(claimed(0, expiresAt - 1)), expiresAt)
})

test('a phone that has not claimed may use the shown nonce and the one before it', () => {
  const session = sessionWith()
  assert.equal(standing(session, nonce(3), 3 * T), 'accepted')
  assert.equal(standing(session, nonce(2), 3 * T), 'accepted')
  assert.equal(standing(session, nonce(1), 3 * T), 'earlier')
  // A nonce of the future, which no QR code has shown.
  assert.equal(standing(session, nonce(4), 3 * T), 'unknown')
  assert.equal(standing(session, '', 3 * T), 'unknown')
})

test('the pinned phone may use the nonce that it claimed only, until that expires', () => {
  const session = claimed(0, CREATED_AT)
  const pinned = { pinned: true }
  assert.equal(standing(session, nonce(0), CLAIMED_NONCE_TTL_MS - 1, pinned), 'accepted')
  assert.equal(standing(session, nonce(0), CLAIMED_NONCE_TTL_MS, pinned), 'earlier')
  // It is shown now, and this phone has not claimed it.
  assert.notEqual(standing(session, nonce(1), T, pinned), 'accepted')
  assert.equal(standing(session, nonce(1), T, { pinned: true, forClaim: true }), 'accepted')
})

test('a new claim replaces the nonce with a newer one, never with an older one', () => {
  const again = { pinned: true, forClaim: true }
  const session = claimed(2)
  assert.equal(standing(session, nonce(1), 2 * T, again), 'earlier')
  assert.equal(standing(session, nonce(2), 2 * T, again), 'accepted')
  assert.equal(standing(session, nonce(3), 3 * T, again), 'accepted')
  // Once every phone is refused the claimed nonce, each accepted one is newer.
  assert.equal(standing(session, nonce(4), 4 * T, again), 'accepted')
})

test('during the step-up only the current step nonce is accepted, from whichever phone', () => {
  const session = sessionWith({
    state: 'step_up_required',
    pendingUntil: CREATED_AT + T,
    deviceId: DEVICE_ID,
    claimedNonce: nonce(1),
    claimedAt: CREATED_AT + T,
    validAssertions: 2,
  })
  for (const pinned of [true, false])
    for (const forClaim of [true, false]) {
      const of = (presented: string) => standing(session, presented, T, { pinned, forClaim })
      assert.equal(of(NONCES.stepNonceAt(2)), 'accepted')
      for (const earlier of [nonce(0), nonce(1), NONCES.stepNonceAt(1)])
        assert.equal(of(earlier), 'earlier', earlier)
      for (const unknown of [nonce(2), NONCES.stepNonceAt(0), NONCES.stepNonceAt(3), ''])
        assert.equal(of(unknown), 'unknown', unknown)
    }
})

test('no nonce of a session that has ended is accepted, and those that were shown are earlier', () => {
  const session = sessionWith({
    state: 'killed',
    pendingUntil: CREATED_AT + T,
    endedAt: CREATED_AT + T,
  })
  for (const pinned of [true, false]) {
    for (const index of [0, 1])
      assert.equal(standing(session, nonce(index), T, { pinned }), 'earlier')
    assert.equal(standing(session, nonce(2), T, { pinned }), 'unknown')
  }
})

test('an unknown nonce of a session of a day is compared with at most six hours of nonces', () => {
  for (const challengeTtlMs of [120_000, 5_000]) {
    const session = sessionWith({ challengeTtlMs, sessionTtlMs: 86_400_000 })
    const now = CREATED_AT + 86_399_999
    let compared = 0
    const nonceAt = (index: number) => {
      compared += 1
      return nonce(index)
    }
    const nonces = { ...NONCES, nonceAt }
    const given = { now, nonces, pinned: false, forClaim: true }
    assert.equal(nonceStanding(session, 'unknown', given), 'unknown')
    assert.ok(compared <= 183, `${compared} nonces`)
    const { index } = shownChallenge(session, now)
    assert.equal(nonceStanding(session, nonce(index - 180), given), 'earlier')
  }
})
