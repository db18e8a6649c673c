import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MoveChanges, moved } from '../../src/domain/changes.ts'
import type { Session } from '../../src/domain/session.ts'
import { MOVES } from '../../src/protocol/states.ts'
import { CREATED_AT as NOW, DEVICE_ID, OTHER_DEVICE_ID, sessionWith } from '../records.ts'

/** Each member that a move can set, with a value that no other one has. */
const SET = {
  expiresAt: NOW + 900_001,
  deviceId: DEVICE_ID,
  validAssertions: 2,
  subjectRef: 'subject',
  bondDigest: 'digest',
  bondProof: { format: 'android-key', public_key: 'key' },
  verification: { assertion_band: 'high' },
  stepUp: { required: ['local_auth'], attempts_left: 1, reasons: ['local_auth_not_verified'] },
  browserProof: { commitment: 'commitment' },
  bondedAt: NOW + 2,
  completedAt: NOW + 3,
  outcome: 'accepted',
  declineNote: 'note',
} as unknown as MoveChanges

test('a move stores each member that it sets in its place', () => {
  const session = sessionWith()
  const after = moved(session, MOVES.stepUp, { now: NOW + 1, set: { ...SET, nonce: 'nonce' } })
  assert.deepEqual(after, {
    ...session,
    ...SET,
    state: 'step_up_required',
    seq: session.seq + 1,
    hint: 'browser',
    pendingUntil: NOW + 1,
    claimedNonce: 'nonce',
  })
})

test('a move keeps each member that it does not set, but the step-up', () => {
  const session = {
    ...sessionWith({ state: 'bonded', pendingUntil: NOW + 1, claimedNonce: 'nonce' }),
    ...SET,
    receiptDueAt: NOW + 4,
  } as Session
  const after = moved(session, MOVES.kill, { now: NOW + 5 })
  assert.deepEqual(after, {
    ...session,
    state: 'killed',
    seq: session.seq + 1,
    hint: null,
    endedAt: NOW + 5,
    endedReason: 'killed_by_tenant',
    stepUp: null,
    sealedPhoneNumber: null,
  })
})

test('a move takes neither the phone nor the nonce from the one that claimed the session', () => {
  const session = sessionWith({ deviceId: DEVICE_ID, claimedNonce: 'nonce' })
  const set = { deviceId: OTHER_DEVICE_ID, nonce: 'other' }
  const after = moved(session, MOVES.decline, { now: NOW + 1, set })
  assert.deepEqual([after?.deviceId, after?.claimedNonce], [DEVICE_ID, 'nonce'])
})
