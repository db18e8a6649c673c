import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDED_REASONS, EVENTS, type EventType, makeId, SESSION_HINTS } from '@bonded/contract'
import { eventsOfSession } from '../../src/domain/events.ts'
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
