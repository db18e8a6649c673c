import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDED_REASONS, SESSION_STATES, type SessionState } from '@bonded/contract'
import { READABLE_AFTER_END_MS } from '../../src/domain/lifetimes.ts'
import type { Session } from '../../src/domain/session.ts'
import {
  awaitsPhone,
  canRepeatBond,
  endedAt,
  ends,
  hasBond,
  hasMoved,
  hasPassed,
  isReadable,
  isStoredFor,
  isUnanswered,
  mayMove,
  type Move,
  MOVES,
  showsCode,
  stateAt,
  STATES,
  takesEvidence,
  takesLateReport,
  takesNo,
  TERMINAL,
  usesStepNonce,
} from '../../src/protocol/states.ts'
import { CREATED_AT, QUORUM_ID, sessionWith } from '../records.ts'
import { FINAL, PROMISED_LATE_REPORT, PROMISED_MOVES, PROMISED_STATES } from './promised.ts'

const { expiresAt } = sessionWith()
const LIVE = SESSION_STATES.filter((state) => !FINAL.includes(state))
const EVERY_MOVE = Object.entries<Move>(MOVES)
const PROMISED = new Map(Object.entries<Move>(PROMISED_MOVES))
/** What the protocol promises of a move. */
const promisedOf = (name: string): Move => PROMISED.get(name) ?? assert.fail(name)
const statesWhere = (holds: (session: Session) => boolean) =>
  SESSION_STATES.filter((state: SessionState) => holds(sessionWith({ state })))
/** The states in which it holds at an instant. */
const statesAt = (now: number, holds: (session: Session, now: number) => boolean) =>
  statesWhere((session) => holds(session, now))

test('the transitions, and what holds in each state, are those that the protocol promises', () => {
  const sorted = ({ from, ...others }: Move) => ({ from: from.toSorted(), ...others })
  const byName = (moves: readonly (readonly [string, Move])[]) =>
    Object.fromEntries(moves.map(([name, move]) => [name, sorted(move)]))
  assert.deepEqual(byName(EVERY_MOVE), byName([...PROMISED]))
  assert.deepEqual(STATES, PROMISED_STATES)
  assert.deepEqual(TERMINAL.toSorted(), FINAL.toSorted())
})

test('every state but the first is reached, and every live one can be left', () => {
  const reached = new Set<SessionState>(['pending'])
  for (let before = 0; before < reached.size; ) {
    before = reached.size
    for (const [, { from, to }] of EVERY_MOVE)
      if (from.some((one) => reached.has(one))) reached.add(to)
  }
  assert.deepEqual([...reached].toSorted(), [...SESSION_STATES].toSorted())
  for (const state of SESSION_STATES) {
    const leaves = EVERY_MOVE.some(([, { from, to }]) => from.includes(state) && to !== state)
    assert.equal(leaves, LIVE.includes(state), state)
  }
})

test('no move leaves a final state, and no move returns to `pending`', () => {
  for (const [name, { from, to }] of EVERY_MOVE) {
    assert.ok(!from.some((state) => FINAL.includes(state)), name)
    assert.notEqual(to, 'pending', name)
  }
})

test('a bond follows an approval, and only a bond is completed', () => {
  const toward = (state: SessionState) => EVERY_MOVE.filter(([, { to }]) => to === state)
  assert.deepEqual(
    toward('completed').map(([, { from }]) => from),
    [['bonded']],
  )
  assert.deepEqual(
    toward('bonded').map(([name]) => name),
    ['bond'],
  )
})

test('the phone and the page of the user can stop a session until it bonds, the tenant after it too', () => {
  for (const move of [MOVES.decline, MOVES.declineUnexpected, MOVES.cancel])
    assert.deepEqual(
      statesAt(CREATED_AT, (session, now) => mayMove(session, move, now)),
      ['pending', 'step_up_required'],
    )
  for (const move of [MOVES.kill, MOVES.killByOperator])
    assert.deepEqual(
      statesAt(CREATED_AT, (session, now) => mayMove(session, move, now)),
      LIVE,
    )
})

test('each killed session says why, each reason is of one move from a state, and no other end has one', () => {
  const reasons = EVERY_MOVE.flatMap(([, { endedReason }]) => endedReason ?? [])
  const ofDecline = ['user_declined', 'user_unexpected']
  // To take an approval back is a decline of a bonded session.
  assert.deepEqual(reasons.toSorted(), [...ENDED_REASONS, ...ofDecline].toSorted())
  for (const [name, { to, endedReason }] of EVERY_MOVE)
    assert.equal(endedReason !== undefined, to === 'killed', name)
})

test('a live session expires at its expiry, whether or not that is stored', () => {
  for (const state of SESSION_STATES) {
    const session = sessionWith({ state })
    const isLive = LIVE.includes(state)
    assert.equal(stateAt(session, expiresAt - 1), state)
    assert.equal(stateAt(session, expiresAt), isLive ? 'expired' : state)
    assert.equal(hasPassed(session, expiresAt - 1), false)
    assert.equal(hasPassed(session, expiresAt), isLive)
  }
})

test('from its expiry a session moves nowhere but to `expired`, and not there before', () => {
  for (const [name, move] of EVERY_MOVE)
    for (const state of SESSION_STATES) {
      const session = sessionWith({ state })
      const allowed = promisedOf(name).from.includes(state)
      const [before, after] = name === 'expire' ? [false, allowed] : [allowed, false]
      assert.equal(mayMove(session, move, expiresAt - 1), before, `${name} from ${state}`)
      assert.equal(mayMove(session, move, expiresAt), after, `${name} from ${state}`)
      assert.equal(isStoredFor(session, move), allowed)
    }
})

test('a session ended when its end was stored, otherwise at its expiry', () => {
  assert.equal(endedAt(sessionWith(), expiresAt - 1), null)
  assert.equal(endedAt(sessionWith(), expiresAt + 9), expiresAt)
  const killed = sessionWith({ state: 'killed', endedAt: CREATED_AT + 5 })
  assert.equal(endedAt(killed, CREATED_AT), CREATED_AT + 5)
})

test('GET returns a session for an hour after its end, stored or not', () => {
  const killed = sessionWith({ state: 'killed', endedAt: CREATED_AT })
  for (const [session, end] of [
    [sessionWith(), expiresAt],
    [killed, CREATED_AT],
  ] as const) {
    assert.equal(isReadable(session, end), true)
    assert.equal(isReadable(session, end + READABLE_AFTER_END_MS - 1), true)
    assert.equal(isReadable(session, end + READABLE_AFTER_END_MS), false)
  }
})

test('GET returns a session of a quorum until an hour after the last bond of the quorum can end', () => {
  const declined = sessionWith({ state: 'killed', endedAt: CREATED_AT + 5, quorumId: QUORUM_ID })
  // The defaults of a workflow: 300 s to answer, and a bond of 120 s.
  const end = CREATED_AT + 420_000 + READABLE_AFTER_END_MS
  assert.equal(isReadable(declined, end - 1), true)
  assert.equal(isReadable(declined, end), false)
})

test('a user can say no until the bond, and in a quorum until its end', () => {
  const saysNo = (quorumId: Session['quorumId']) =>
    SESSION_STATES.filter((state) => takesNo(sessionWith({ state, quorumId }), expiresAt - 1))
  assert.deepEqual(saysNo(null), ['pending', 'step_up_required'])
  assert.deepEqual(saysNo(QUORUM_ID).toSorted(), LIVE.toSorted())
  assert.equal(takesNo(sessionWith({ state: 'bonded', quorumId: QUORUM_ID }), expiresAt), false)
})

test('a phone acts in two states: by the code in one, by its step nonce in the other', () => {
  assert.deepEqual(statesWhere(isUnanswered), ['pending'])
  assert.deepEqual(statesWhere(usesStepNonce), ['step_up_required'])
  assert.deepEqual(statesAt(expiresAt - 1, showsCode), ['pending'])
  assert.deepEqual(statesAt(expiresAt - 1, awaitsPhone), ['pending', 'step_up_required'])
  assert.deepEqual(statesWhere(takesEvidence), ['pending', 'step_up_required'])
  assert.deepEqual(statesAt(expiresAt, showsCode), [])
  assert.deepEqual(statesAt(expiresAt, awaitsPhone), [])
})

test('a bond counts until the session is killed or expires', () => {
  assert.deepEqual(statesWhere(hasBond), ['bonded', 'completed'])
})

test('the backend reports late on an expired session that was bonded, and on no other', () => {
  assert.deepEqual(statesWhere(takesLateReport), [])
  const wasBonded = SESSION_STATES.filter((state) =>
    takesLateReport(sessionWith({ state, bondedAt: CREATED_AT })),
  )
  assert.deepEqual(wasBonded, PROMISED_LATE_REPORT)
})

test('an assertion can be a repetition in the states that an approval leads to', () => {
  const moved = ['bonded', 'step_up_required', 'completed']
  assert.deepEqual(statesAt(expiresAt - 1, canRepeatBond), moved)
  assert.deepEqual(statesAt(expiresAt, canRepeatBond), ['completed'])
})

test('a move has been made by the session that is in its state, and it ends one in a final state', () => {
  for (const [name, move] of EVERY_MOVE) {
    assert.deepEqual(
      statesWhere((session) => hasMoved(session, move)),
      [promisedOf(name).to],
      name,
    )
    assert.equal(ends(move), FINAL.includes(promisedOf(name).to), name)
  }
})
