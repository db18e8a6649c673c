import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDED_REASONS, EVENTS, type EventType, makeId, SESSION_HINTS } from '@bonded/contract'
import { DEVICE_EVENTS, eventOfDevice, eventsOfSession } from '../../src/domain/events.ts'
import { newSession } from '../../src/domain/new-session.ts'
import { policyOf } from '../../src/domain/policy.ts'
import type { Session } from '../../src/domain/session.ts'
import { type Move, MOVES } from '../../src/protocol/states.ts'

const AT = Date.parse('2026-11-21T09:30:00.000Z')
const SECRETS = ['claimed-nonce', 'sealed-number', 'digest-of-bond', 'subject-of-bond']
const session: Session = {
  ...newSession({
    id: makeId('sess', new Uint8Array(16)),
    tenantId: makeId('ten', new Uint8Array(16)),
    rootKeyId: 'k1',
    workflow: 'wire',
    action: 'send',
    policy: policyOf({ name: 'wire', actions: ['send'] }),
    createdAt: AT,
    context: { display: [{ label: 'Amount', value: 'of-context' }] },
    wantedSubjectRef: null,
    sealedPhoneNumber: 'sealed-number',
    endUserNetwork: '192.0.2.0/24',
    notifies: true,
  }),
  claimedNonce: 'claimed-nonce',
  bondDigest: 'digest-of-bond',
  subjectRef: 'subject-of-bond',
}
/** The times of a session, all different. */
const LATER: Partial<Session> = {
  expiresAt: AT + 1_000,
  pendingUntil: AT + 2_000,
  claimedAt: AT + 3_000,
  bondedAt: AT + 4_000,
  completedAt: AT + 5_000,
  endedAt: AT + 6_000,
  receiptDueAt: AT + 7_000,
}
const after = (move: Move): Session => ({
  ...session,
  state: move.to,
  endedReason: move.endedReason ?? null,
})
const typesOf = (changed: Session, kind: string): EventType[] =>
  eventsOfSession(changed, AT, kind).map(({ type }) => type)

test('every transition of the table has an event that names its state and reason', () => {
  assert.deepEqual(typesOf(session, 'created'), ['session.created'])
  const reasons = new Set<string>()
  for (const [name, move] of Object.entries<Move>(MOVES)) {
    const [event, ...others] = eventsOfSession(after(move), AT, move.to)
    assert.equal(event?.type, `session.${move.to}`, name)
    assert.ok(Object.hasOwn(EVENTS, event.type))
    assert.equal(event.data.session?.state, move.to)
    assert.equal(event.data.session?.ended_reason, move.endedReason ?? null)
    assert.equal(others.length, move.endedReason === 'user_unexpected' ? 1 : 0, name)
    if (move.endedReason !== undefined) reasons.add(move.endedReason)
  }
  assert.deepEqual([...reasons].sort(), [...ENDED_REASONS].sort(), 'no reason is left out')
})

test('each event of a session has the members of that session, and the time of the change', () => {
  const types = new Set<EventType>()
  const inboxUrl = 'https://id.example/inbox'
  const created = { move: { to: 'pending' } as const, kind: 'created' }
  const changes: readonly { move: Pick<Move, 'to' | 'endedReason'>; kind: string }[] = [
    created,
    ...Object.values<Move>(MOVES).map((move) => ({ move, kind: move.to })),
  ]
  for (const { move, kind } of changes) {
    // Each member has a value of its own, so that none is mistaken for another.
    const changed: Session = {
      ...session,
      ...LATER,
      seq: 7,
      hint: 'browser',
      outcome: 'in_review',
      wantedSubjectRef: 'of-user',
      state: move.to,
      endedReason: move.endedReason ?? null,
    }
    const about = { inboxUrl, inboxPausedUntil: AT + 9_000 }
    for (const { type, data, ...event } of eventsOfSession(changed, AT + 8_000, kind, about)) {
      types.add(type)
      assert.deepEqual(event, { sequence: 7, timestamp: '2026-11-21T09:30:08.000Z' }, type)
      assert.deepEqual(
        data,
        {
          session: {
            id: session.id,
            state: move.to,
            tenant_id: session.tenantId,
            workflow: 'wire',
            action: 'send',
            created_at: '2026-11-21T09:30:00.000Z',
            expires_at: '2026-11-21T09:30:01.000Z',
            hint: 'browser',
            ended_reason: move.endedReason ?? null,
            outcome: 'in_review',
          },
          ...(type === 'session.waiting' && { subject_ref: 'of-user', inbox_url: inboxUrl }),
          ...(type === 'session.reported' && {
            advisory: false,
            inbox_paused_until: '2026-11-21T09:30:09.000Z',
          }),
        },
        type,
      )
    }
  }
  const all = Object.keys(EVENTS).filter((type) => type.startsWith('session.'))
  assert.deepEqual([...types].sort(), all.sort(), 'no event is left out')
})

test('an event of a device has its type, its time, and the names that the tenant knows', () => {
  const types = Object.values(DEVICE_EVENTS)
  assert.deepEqual(
    [...new Set(types)].sort(),
    Object.keys(EVENTS)
      .filter((type) => type.startsWith('device.'))
      .sort(),
  )
  for (const type of types)
    for (const data of [{ subject_ref: 'user', device_ref: 'phone' }, { subject_ref: 'user' }])
      assert.deepEqual(eventOfDevice(type, AT, data), {
        type,
        sequence: 0,
        timestamp: '2026-11-21T09:30:00.000Z',
        data,
      })
})

test('a report of the user is an event of its own, advisory where the session named no user', () => {
  const reported = after(MOVES.declineUnexpected)
  const advisory = (changed: Session) => eventsOfSession(changed, AT, 'killed')[1]?.data.advisory
  assert.deepEqual(typesOf(reported, 'killed'), ['session.killed', 'session.reported'])
  assert.equal(advisory(reported), true)
  assert.equal(advisory({ ...reported, wantedSubjectRef: 'of-user' }), false)
})

test('a change of the hint alone has no event', () => {
  for (const hint of SESSION_HINTS) assert.deepEqual(typesOf(session, hint), [])
})

test('an event has no nonce, number, context, subject or proof of its session', () => {
  const text = JSON.stringify(eventsOfSession(after(MOVES.bond), AT, 'bonded'))
  for (const secret of [...SECRETS, 'of-context', '192.0.2']) assert.ok(!text.includes(secret))
})
