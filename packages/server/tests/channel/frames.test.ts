import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREATED_AT as NOW, SESSION_ID, sessionWith } from '../../../core/tests/records.ts'
import type { Session } from '../../../core/src/domain/session.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { eventFrame, heartbeatFrame } from '../../src/channel/frames.ts'

const service = { clock: { now: () => NOW + 2_000 } } as unknown as Service
const MEMBERS = {
  seq: 7,
  hint: 'claimed',
  endedReason: 'policy_not_met',
  outcome: 'outcome',
  expiresAt: NOW + 5_000,
} as unknown as Partial<Session>
const sent = { v: 1, session_id: SESSION_ID }

test('a heartbeat has the state of the session and the time that is left', () => {
  const beat = (members: Partial<Session>) =>
    heartbeatFrame(service, sessionWith({ ...MEMBERS, ...members }))
  const frame = { ...sent, seq: 7, at: '2026-11-26T12:00:02.000Z', type: 'heartbeat', data: {} }
  assert.deepEqual(beat({ state: 'pending' }), {
    ...frame,
    state: 'pending',
    hint: 'claimed',
    expires_in_ms: 3_000,
  })
  assert.deepEqual(beat({ state: 'expired', endedAt: NOW }), {
    ...frame,
    state: 'expired',
    hint: null,
    expires_in_ms: 0,
  })
  assert.equal(beat({ state: 'killed', endedAt: NOW }).expires_in_ms, 0)
  assert.equal(beat({ state: 'pending', expiresAt: NOW + 1_000 }).expires_in_ms, 0)
})

test('an event has the number, the state and the time that it had when it happened', () => {
  const session = sessionWith({ ...MEMBERS, state: 'killed', endedAt: NOW + 1_000 })
  const event = (kind: string, state: string, hint: string | null) =>
    eventFrame(service, session, { seq: 3, kind, state, hint, at: NOW + 1_500 } as never)
  const frame = { ...sent, seq: 3, at: '2026-11-26T12:00:01.500Z', expires_in_ms: 0 }
  for (const [kind, state, ended_reason, outcome] of [
    ['killed', 'killed', 'not_verified', null],
    ['completed', 'completed', null, 'outcome'],
    ['bonded', 'bonded', null, null],
  ] as const)
    assert.deepEqual(event(kind, state, null), {
      ...frame,
      state,
      hint: null,
      type: 'state',
      data: { ended_reason, outcome },
    })
  assert.deepEqual(event('waiting_for_scan', 'pending', 'waiting_for_scan'), {
    ...frame,
    state: 'pending',
    hint: 'waiting_for_scan',
    type: 'hint',
    data: {},
  })
})
