import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareQuorum,
  type SettledQuorum,
  type StoredMember,
} from '../durability/compare-quorum.ts'

const BEGUN_AT = 1_000_000
const SECOND = 1_000
/** A user who approved some seconds before the action, and whose approval lasts. */
const approvedBefore = (seconds: number, change: Partial<StoredMember> = {}): StoredMember => ({
  state: 'completed',
  bondedAt: BEGUN_AT - seconds * SECOND,
  endedAt: BEGUN_AT + SECOND,
  expiresAt: BEGUN_AT + 900 * SECOND,
  ...change,
})
const endedBefore = (seconds: number) =>
  approvedBefore(60, { state: 'killed', endedAt: BEGUN_AT - seconds * SECOND })
const WAITING = approvedBefore(0, { state: 'killed', bondedAt: null })
const RAN: SettledQuorum = {
  needed: 2,
  members: [approvedBefore(60), approvedBefore(5), WAITING],
  people: 'approved',
  runs: [BEGUN_AT],
  status: 'executed',
  isListed: false,
}

for (const [what, change] of [
  ['ran once', {}],
  ['ran, and is listed as unknown', { status: 'outcome_unknown', isListed: true }],
  [
    'may have run, and is listed as unknown',
    { runs: [], status: 'outcome_unknown', isListed: true },
  ],
  ['was refused, and did not run', { people: 'refused', runs: [], status: 'declined' }],
  ['ran within 30 s after a snapshot', { members: [approvedBefore(60), endedBefore(29)] }],
  ['ran before an approval ended as decided', { members: [approvedBefore(60), endedBefore(-1)] }],
] as const)
  test(`the comparison of a quorum finds nothing where the action ${what}`, () => {
    assert.deepEqual(compareQuorum({ ...RAN, ...change }), { lost: [], invented: [] })
  })

const TOO_FEW = 'the action ran, and too few approvals were live within 30 s before'

for (const [what, change, found] of [
  ['one approval', { members: [approvedBefore(60), WAITING] }, TOO_FEW],
  ['an approval that came later', { members: [approvedBefore(60), approvedBefore(-1)] }, TOO_FEW],
  [
    'an approval that ended more than 30 s before',
    { members: [approvedBefore(60), endedBefore(31)] },
    TOO_FEW,
  ],
  ['approvals of two moments', { members: [endedBefore(20), approvedBefore(10)] }, TOO_FEW],
  [
    'an approval that expired',
    { members: [approvedBefore(60), approvedBefore(60, { state: 'expired', expiresAt: 0 })] },
    TOO_FEW,
  ],
  ['two runs', { runs: [BEGUN_AT, BEGUN_AT] }, 'the action ran 2 times'],
  ['a refusal', { people: 'refused' }, 'the people refused, and the action ran'],
  ['no run', { people: 'either', runs: [] }, 'the action is reported, and did not run'],
] as const)
  test(`the comparison of a quorum finds an action with ${what}`, () => {
    assert.deepEqual(compareQuorum({ ...RAN, ...change }), { lost: [], invented: [found] })
  })

test('the comparison of a quorum finds an action that is lost', () => {
  const waiting = { ...RAN, status: 'approved' }
  assert.deepEqual(compareQuorum({ ...waiting, runs: [] }).lost, [
    'the people approved, and the action neither ran nor is listed as unknown',
  ])
  assert.deepEqual(compareQuorum(waiting).lost, ['the action ran, and its status is approved'])
})
