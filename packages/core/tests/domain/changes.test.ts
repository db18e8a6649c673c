import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PulseVerification, SESSION_HINTS, SESSION_STATES } from '@bonded/contract'
import { claimed, hinted, missed, moved, type MoveChanges } from '../../src/domain/changes.ts'
import { policyOf } from '../../src/domain/policy.ts'
import { RECEIPT_DELAY_MS } from '../../src/domain/receipts.ts'
import type { Session } from '../../src/domain/session.ts'
import { endedAt, mayMove, type Move, MOVES, stateAt, TERMINAL } from '../../src/protocol/states.ts'
import { CREATED_AT, DEVICE_ID, OTHER_DEVICE_ID, sessionWith } from '../records.ts'

const NOW = CREATED_AT + 10_000
const { expiresAt } = sessionWith()
const EVERY_MOVE = Object.entries<Move>(MOVES)
const move = (session: Session, by: Move, set: MoveChanges = {}, now = NOW) =>
  moved(session, by, { now, set })
const stepping = (members: Partial<Session> = {}) =>
  sessionWith({ state: 'step_up_required', pendingUntil: CREATED_AT + 1, ...members })

test('a session moves exactly where the table allows it, to its state, with one step of `seq`', () => {
  for (const [name, by] of EVERY_MOVE)
    for (const state of SESSION_STATES)
      for (const now of [NOW, expiresAt - 1, expiresAt]) {
        const session = sessionWith({ state, seq: 7 })
        const next = move(session, by, {}, now)
        assert.equal(next !== undefined, mayMove(session, by, now), `${name} from ${state}`)
        if (next) assert.deepEqual([next.state, next.seq], [by.to, 8])
      }
})

test('a move without changes keeps everything that does not belong to the move', () => {
  const session = sessionWith({ deviceId: DEVICE_ID, claimedNonce: 'nonce', validAssertions: 1 })
  assert.deepEqual(move(session, MOVES.stepUp), {
    ...session,
    state: 'step_up_required',
    seq: session.seq + 1,
    hint: 'step_up',
    pendingUntil: NOW,
  })
})

test('a final state has the time and the reason of its end, and any other state has neither', () => {
  for (const [name, by] of EVERY_MOVE) {
    const now = by === MOVES.expire ? expiresAt + 5_000 : NOW
    const from = by.from[0] ?? assert.fail()
    const next = move(sessionWith({ state: from }), by, {}, now) ?? assert.fail(name)
    const isFinal = TERMINAL.includes(by.to)
    assert.equal(next.endedReason, by.endedReason ?? null, name)
    // An expired session ended at its expiry, and not when that was noticed.
    assert.equal(next.endedAt, isFinal ? Math.min(now, expiresAt) : null, name)
    if (isFinal) assert.equal(endedAt(next, now), next.endedAt)
  }
})

test('the challenge stops at the first move that leaves `pending`', () => {
  const first = move(sessionWith(), MOVES.stepUp) ?? assert.fail()
  assert.equal(first.pendingUntil, NOW)
  assert.equal(move(first, MOVES.kill, {}, NOW + 5)?.pendingUntil, NOW)
  const expired = move(sessionWith(), MOVES.expire, {}, expiresAt + 5)
  assert.equal(expired?.pendingUntil, expiresAt)
})

test('the number for a carrier check is deleted when no more evidence can come', () => {
  for (const [name, by] of EVERY_MOVE) {
    const session = sessionWith({ state: by.from[0] ?? assert.fail() })
    const next = move(session, by, {}, by === MOVES.expire ? expiresAt : NOW)
    assert.equal(
      next?.sealedPhoneNumber,
      by.to === 'step_up_required' ? 'sealed-number' : null,
      name,
    )
  }
})

test('the hint says whether the phone or the browser is next, and ends with the step-up', () => {
  const browserProof = { approved: {} as never }
  const approved = move(sessionWith(), MOVES.approve, { browserProof }) ?? assert.fail()
  assert.equal(approved.hint, 'browser')
  assert.equal(move(sessionWith(), MOVES.stepUp)?.hint, 'step_up')
  const recalled = move(approved, MOVES.recall, { browserProof: null }) ?? assert.fail()
  assert.deepEqual([recalled.hint, recalled.browserProof], ['step_up', null])
  assert.equal(move(approved, MOVES.kill)?.hint, null)
})

test('no move replaces the phone of a session or the nonce that it claimed', () => {
  const set = { deviceId: OTHER_DEVICE_ID, nonce: 'other' }
  const free = move(sessionWith(), MOVES.stepUp, set)
  assert.deepEqual([free?.deviceId, free?.claimedNonce], [OTHER_DEVICE_ID, 'other'])
  const pinned = sessionWith({ deviceId: DEVICE_ID, claimedNonce: 'nonce' })
  const next = move(pinned, MOVES.stepUp, set)
  assert.deepEqual([next?.deviceId, next?.claimedNonce], [DEVICE_ID, 'nonce'])
})

test('a session bonds with the proof of the browser exactly where its workflow requires it', () => {
  const policy = policyOf({ name: 'w', actions: ['a'], require: ['browser'] })
  const proved = { verification: { browser: {} } as PulseVerification }
  const unproved = { verification: {} as PulseVerification }
  const bond = (session: Session, set: MoveChanges) => () => move(session, MOVES.bond, set)?.state
  assert.equal(bond(stepping({ policy }), proved)(), 'bonded')
  assert.equal(bond(stepping(), unproved)(), 'bonded')
  assert.throws(bond(stepping({ policy }), unproved), RangeError)
  assert.throws(bond(stepping({ policy }), {}), RangeError)
  assert.throws(bond(stepping(), proved), RangeError)
})

test('a receipt is due after a bond with a proof, and sooner after its completion', () => {
  const bondProof = {} as NonNullable<Session['bondProof']>
  const bonded = move(sessionWith(), MOVES.bond, { bondProof }) ?? assert.fail()
  assert.equal(bonded.receiptDueAt, NOW + RECEIPT_DELAY_MS)
  assert.equal(move(bonded, MOVES.complete, {}, NOW + 1)?.receiptDueAt, NOW + 1)
  assert.equal(move(sessionWith(), MOVES.bond)?.receiptDueAt, null)
})

test('one phone claims a session, and a second claim by it only replaces the nonce', () => {
  const claim = { now: NOW, deviceId: DEVICE_ID, nonce: 'first', claimedAt: NOW }
  const session = sessionWith()
  const once = claimed(session, claim) ?? assert.fail()
  assert.deepEqual(once, {
    ...session,
    deviceId: DEVICE_ID,
    claimedNonce: 'first',
    claimedAt: NOW,
    hint: 'scanned',
    seq: session.seq + 1,
  })
  const again = { ...claim, nonce: 'second', claimedAt: NOW + 1 }
  assert.deepEqual(claimed(once, again), {
    ...once,
    claimedNonce: 'second',
    claimedAt: NOW + 1,
  })
  assert.equal(claimed(once, { ...again, deviceId: OTHER_DEVICE_ID }), undefined)
})

test('no phone claims a session that shows no code', () => {
  const claim = { deviceId: DEVICE_ID, nonce: 'nonce', claimedAt: NOW }
  for (const state of SESSION_STATES)
    for (const now of [NOW, expiresAt - 1, expiresAt])
      assert.equal(
        claimed(sessionWith({ state }), { ...claim, now }) !== undefined,
        stateAt({ state, expiresAt }, now) === 'pending',
        `${state} at ${now}`,
      )
})

test('a hint changes while the code is shown, and the same hint again changes nothing', () => {
  const session = sessionWith()
  for (const hint of SESSION_HINTS) {
    const next = hinted(session, hint, NOW)
    assert.deepEqual(
      next,
      hint === session.hint ? undefined : { ...session, hint, seq: session.seq + 1 },
    )
  }
  assert.equal(hinted(session, 'scanned', expiresAt), undefined)
  for (const state of SESSION_STATES.filter((other) => other !== 'pending'))
    assert.equal(hinted(sessionWith({ state }), 'scanned', NOW), undefined, state)
})

test('an assertion that misses the policy is counted during the step-up only', () => {
  const stepUp = { required: ['carrier'], attempts_left: 1, reasons: ['number_not_verified'] }
  const session = stepping({ validAssertions: 1 })
  assert.deepEqual(missed(session, { now: expiresAt - 1, stepUp }), {
    ...session,
    validAssertions: 2,
    stepUp,
  })
  assert.equal(missed(session, { now: expiresAt, stepUp }), undefined)
  for (const state of SESSION_STATES.filter((other) => other !== 'step_up_required'))
    assert.equal(missed(sessionWith({ state }), { now: NOW, stepUp }), undefined, state)
})
