import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { compareSession, type StoredSession } from '../durability/compare.ts'
import { type Act, Ledger, type SessionRecord } from '../durability/ledger.ts'

const ACTS: readonly (readonly [requestId: string, act: Act])[] = [
  ['r1', 'create'],
  ['r2', 'claim'],
  ['r3', 'evidence'],
  ['r4', 'attest'],
  ['r5', 'complete'],
]
const KINDS = ['created', 'scanned', 'evaluating', 'bonded', 'completed']
const EVENTS: StoredSession['events'] = KINDS.map((kind, index) => ({
  seq: index + 1,
  kind,
  request_id: `r${index + 1}`,
}))
const RECORD: SessionRecord = {
  sent: new Map(ACTS),
  acknowledged: ACTS.map(([requestId, act]) => ({ requestId, act })),
  sightings: [
    { seq: 1, state: 'pending' },
    { seq: 3, state: 'pending', kind: 'evaluating' },
    { seq: 4, state: 'bonded', kind: 'bonded' },
  ],
}

test('finds nothing where every success and every event is stored', () => {
  assert.deepEqual(compareSession(RECORD, { events: EVENTS }), { lost: [], invented: [] })
})

test('accepts an effect of a request whose response was lost, and an expiry that is stored', () => {
  const withoutResponse = { ...RECORD, acknowledged: [] }
  assert.deepEqual(compareSession(withoutResponse, { events: EVENTS }), { lost: [], invented: [] })
  const expired = {
    ...RECORD,
    acknowledged: RECORD.acknowledged.slice(0, 1),
    sightings: [{ seq: 2, state: 'expired' as const, kind: 'expired' }],
  }
  const events = [...EVENTS.slice(0, 1), { seq: 2, kind: 'expired', request_id: null }]
  assert.deepEqual(compareSession(expired, { events }), { lost: [], invented: [] })
})

test('reports an expiry that a client received before it was stored', () => {
  const early = { ...RECORD, sightings: [{ seq: 2, state: 'expired' as const }] }
  const { invented } = compareSession(early, { events: EVENTS.slice(0, 2) })
  assert.deepEqual(invented, ['expired at seq 2 was sent and is not stored'])
})

test('reports every acknowledged change that is not stored', () => {
  const { lost } = compareSession(RECORD, { events: EVENTS.slice(0, 3) })
  assert.deepEqual(lost, [
    'attest (r4) was acknowledged and is not stored',
    'complete (r5) was acknowledged and is not stored',
  ])
  assert.equal(compareSession(RECORD, { events: [] }).lost.length, ACTS.length)
})

test('reports an event or a state that a client received and that is not stored', () => {
  for (const sighting of [
    { seq: 5, state: 'killed', kind: 'killed' },
    { seq: 6, state: 'completed', kind: 'completed' },
    { seq: 4, state: 'pending' },
    { seq: 2, state: 'pending', kind: 'evaluating' },
    { seq: 9, state: 'expired' },
  ] as const) {
    const { invented } = compareSession({ ...RECORD, sightings: [sighting] }, { events: EVENTS })
    assert.equal(invented.length, 1, JSON.stringify(sighting))
  }
})

test('reports a stored event that no request caused, and one after the end of its session', () => {
  const unasked = { ...RECORD, sent: new Map(ACTS.slice(0, 4)) }
  assert.deepEqual(compareSession(unasked, { events: EVENTS }).invented, [
    'completed at seq 5 is stored and no request caused it',
  ])
  const swapped = EVENTS.with(3, { seq: 4, kind: 'bonded', request_id: 'r5' })
  assert.deepEqual(compareSession(RECORD, { events: swapped }).invented, [
    'bonded at seq 4 is stored and no request caused it',
  ])
  const killedLater = {
    record: { ...RECORD, sent: new Map([...ACTS, ['r6', 'kill' as const]]) },
    events: [...EVENTS, { seq: 6, kind: 'killed', request_id: 'r6' }],
  }
  assert.equal(compareSession(killedLater.record, killedLater).invented.length, 1)
})

test('attributes a session to each request that sent its Idempotency-Key, and reports a second session', () => {
  const ledger = new Ledger()
  const [first, second] = ['sess_1', 'sess_2'] as SessionId[]
  assert.ok(first !== undefined && second !== undefined)
  ledger.creating('key', 'r1')
  ledger.creating('key', 'r2')
  ledger.created('key', first)
  assert.deepEqual([...(ledger.sessions.get(first)?.sent.keys() ?? [])], ['r1', 'r2'])
  assert.deepEqual(ledger.twice, [])
  ledger.created('key', second)
  assert.deepEqual(ledger.twice, ['key'])
})
