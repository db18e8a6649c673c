import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FullSession, judgeQuorum, type QuorumFacts, type QuorumRow } from '../src/index.ts'

const NOW = Date.parse('2026-11-29T09:30:00.000Z')
const RULE = { id: `quo_${'q'.repeat(22)}`, needed: 2, of: 3 }
const purpose = { workflow: 'wire', action: 'send' }

/** A session of the quorum: pending, or approved by the user of the reference. */
function member(name: string, subject_ref: string | null, change: object = {}): FullSession {
  const verification = {
    device_possession: true,
    local_auth: 'verified',
    assertion_confidence: 0.7,
    sensor_continuity: { continuity_score: 0.7 },
  }
  return {
    id: `sess_${name}`,
    ...purpose,
    state: subject_ref === null ? 'pending' : 'bonded',
    expires_at: '2026-11-29T09:31:00.000Z',
    verification: subject_ref === null ? null : verification,
    context: { display: [], digest: 'd', quorum: RULE },
    subject_ref,
    ended_reason: null,
    ...change,
  } as unknown as FullSession
}

const ann = member('ann', 'ref-ann')
const bob = member('bob', 'ref-bob')
const cy = member('cy', null)
const row: QuorumRow = { ...RULE, refs: ['ref-ann', 'ref-bob', 'ref-cy'] }
const good: QuorumFacts = {
  sessions: [ann, bob, cy],
  row,
  minimum: 2,
  owner: 'maker',
  pending: { ...purpose, owner: 'maker' },
  expected: { ...purpose, context_digest: 'd' },
  now: NOW,
}

test('accepts as many approvals as the rule needs, and names their sessions', () => {
  const approved = ['sess_ann', 'sess_bob']
  assert.deepEqual(judgeQuorum(good), { decision: 'accept', reasons: [], approved })
  const all = judgeQuorum({ ...good, sessions: [ann, bob, member('cy', 'ref-cy')] })
  assert.deepEqual([all.decision, all.approved.length], ['accept', 3])
})

const otherRule = { display: [], digest: 'd', quorum: { ...RULE, id: `quo_${'x'.repeat(22)}` } }
const ended = (ended_reason: string) => member('cy', null, { state: 'killed', ended_reason })
const rejected: [what: string, change: Partial<QuorumFacts>, reason: string][] = [
  ['a quorum that could not be read', { sessions: undefined }, 'quorum_unavailable'],
  ['a quorum without one of its sessions', { sessions: [ann, bob] }, 'quorum_unavailable'],
  ['one session twice', { sessions: [ann, ann, bob] }, 'quorum_unavailable'],
  ['one approval', { sessions: [ann, member('bob', null), cy] }, 'too_few_approvals'],
  [
    'two approvals of one reference',
    { sessions: [ann, member('bob', 'ref-ann'), cy] },
    'quorum_mismatch',
  ],
  [
    'an approval of a reference that the row does not have',
    { sessions: [ann, member('bob', 'ref-maker'), cy] },
    'quorum_mismatch',
  ],
  [
    'an approval without a reference',
    { sessions: [ann, member('bob', 'ref-bob', { subject_ref: null }), cy] },
    'quorum_mismatch',
  ],
  [
    'an approval of another quorum with the same text',
    { sessions: [ann, member('bob', 'ref-bob', { context: otherRule }), cy] },
    'quorum_mismatch',
  ],
  [
    'an approval of one person alone',
    { sessions: [ann, member('bob', 'ref-bob', { context: { display: [], digest: 'd' } }), cy] },
    'quorum_mismatch',
  ],
  [
    'a session whose context was deleted',
    { sessions: [ann, bob, member('cy', null, { context: null })] },
    'quorum_mismatch',
  ],
  ['a row that needs fewer than the rule', { row: { ...row, needed: 1 } }, 'quorum_mismatch'],
  ['a row that needs more than the rule', { row: { ...row, needed: 3 } }, 'quorum_mismatch'],
  ['a row of another quorum', { row: { ...row, id: 'quo_y' } }, 'quorum_mismatch'],
  [
    'a row that names a person twice',
    { row: { ...row, refs: ['ref-ann', 'ref-bob', 'ref-bob'] } },
    'quorum_mismatch',
  ],
  [
    'a row that names too few people',
    { row: { ...row, refs: ['ref-ann', 'ref-bob'] } },
    'quorum_mismatch',
  ],
  ['a rule below the minimum of the configuration', { minimum: 3 }, 'quorum_mismatch'],
  ['a minimum that is not a number', { minimum: Number.NaN }, 'quorum_mismatch'],
  ['two approvals and a no', { sessions: [ann, bob, ended('user_declined')] }, 'declined'],
  ['two approvals and a report', { sessions: [ann, bob, ended('user_unexpected')] }, 'declined'],
  [
    'an approval that was withdrawn',
    { sessions: [ann, member('bob', 'ref-bob', { verification: null }), cy] },
    'too_few_approvals',
  ],
  [
    'an approval that another person’s no ended',
    { sessions: [ann, member('bob', null, { state: 'killed', ended_reason: 'decided' }), cy] },
    'too_few_approvals',
  ],
  [
    'an approval that an employee would review',
    {
      sessions: [
        ann,
        member('bob', 'ref-bob', {
          verification: { ...bob.verification, assertion_confidence: 0.5 },
        }),
        cy,
      ],
    },
    'too_few_approvals',
  ],
  [
    'an approval that has been completed',
    { sessions: [ann, member('bob', 'ref-bob', { state: 'completed' }), cy] },
    'too_few_approvals',
  ],
  ['approvals that have expired', { now: NOW + 60_000 }, 'too_few_approvals'],
  [
    'approvals of another text',
    { expected: { ...purpose, context_digest: 'e' } },
    'too_few_approvals',
  ],
  ['approvals of another owner’s row', { owner: 'other' }, 'too_few_approvals'],
]

for (const [what, change, reason] of rejected)
  test(`rejects ${what}`, () => {
    const { decision, reasons } = judgeQuorum({ ...good, ...change })
    assert.deepEqual([decision, reasons], ['reject', [reason]])
  })

test('a row that needs fewer than the rule passes with no number of approvals', () => {
  const as = (each: FullSession) =>
    ({
      ...each,
      context: { display: [], digest: 'd', quorum: { ...RULE, needed: 3 } },
    }) as FullSession
  const facts = { ...good, sessions: [as(ann), as(bob), as(cy)] }
  assert.deepEqual(judgeQuorum(facts).reasons, ['quorum_mismatch'])
  assert.deepEqual(judgeQuorum({ ...facts, row: { ...row, needed: 3 } }).reasons, [
    'too_few_approvals',
  ])
})

test('a rule of one user is none, whatever the row and the minimum say', () => {
  const one = { ...RULE, needed: 1 }
  const as = (each: FullSession) =>
    ({ ...each, context: { display: [], digest: 'd', quorum: one } }) as FullSession
  const facts = { ...good, sessions: [as(ann), as(member('bob', null)), as(cy)], minimum: 1 }
  assert.equal(judgeQuorum({ ...facts, row: { ...row, needed: 1 } }).decision, 'reject')
})
