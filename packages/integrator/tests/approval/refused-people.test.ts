import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectState } from '../../src/approval/approval-row.ts'

import { approversOf, checkMinimum } from '../../src/approval/quorum.ts'

const [ANN, BOB] = ['ann', 'bob'].map((person) => ({ person, ref: `ref-${person}` }))
const people = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ person: `p${index}`, ref: `r${index}` }))

/** The member and the text of a refusal. */
function refused(change: object, minimum = 2): readonly unknown[] {
  const of = { people: [ANN, BOB], needed: 2, maker: 'max', ...change }
  try {
    approversOf(of as never, minimum)
  } catch (error) {
    const { code, param, message } = error as { code: string; param: string; message: string }
    assert.equal(code, 'invalid_request')
    return [param, message]
  }
  return []
}

test('each refusal of the people who are asked names the member and says why', () => {
  const needed = 'needed must be from 2 to 5, not more than people.'
  for (const [change, ...expected] of [
    [{}],
    [{ maker: null }],
    // Protocol 16: from 2 to 10 people, of whom from 2 to 5 must approve.
    [{ people: people(10), needed: 5 }],
    [{ people: people(10), needed: 6 }, 'needed', needed],
    [{ people: people(3), needed: 2 }],
    [{ subjectRef: 's' }, 'subjectRef', 'subjectRef cannot be there: pass people.'],
    [{ people: people(1) }, 'people', 'people must be 2 to 10.'],
    [{ people: people(11) }, 'people', 'people must be 2 to 10.'],
    [{ people: undefined }, 'people', 'people must be 2 to 10.'],
    [
      { people: [ANN, { person: ' ', ref: 'r' }] },
      'people',
      'people must each have a person and a ref.',
    ],
    [{ people: [ANN, { person: 'eve' }] }, 'people', 'people must each have a person and a ref.'],
    [{ people: [ANN, { person: 'ann', ref: 'r' }] }, 'people', 'people repeat a person.'],
    [{ people: [ANN, { person: 'eve', ref: 'ref-ann' }] }, 'people', 'people repeat a ref.'],
    [{ maker: undefined }, 'maker', 'maker must be stated: a person, or null.'],
    [{ maker: '' }, 'maker', 'maker must be stated: a person, or null.'],
    [{ maker: 'bob' }, 'people', 'people have the maker among them.'],
    [{ needed: 1 }, 'needed', needed],
    [{ needed: 3 }, 'needed', needed],
    [{ needed: 2.5 }, 'needed', needed],
    [{ needed: '2' }, 'needed', needed],
  ] as readonly (readonly [object, ...string[]])[])
    assert.deepEqual(refused(change), expected, JSON.stringify(change))
  const below = 'needed must be from 3 to 5, not more than people.'
  assert.deepEqual(refused({ people: people(5), needed: 2 }, 3), ['needed', below])
  assert.deepEqual(refused({ people: people(5), needed: 3 }, 3), [])
  assert.throws(
    () => approversOf({ people: [ANN, BOB], needed: 2, maker: null } as never, undefined),
    {
      code: 'invalid_request',
      param: 'people',
      message: 'people needs the option quorum of createApprovals.',
    },
  )
})

test('the people are in the order of their references, with the rule and the maker', () => {
  const given = {
    people: [
      { person: 'a', ref: 'z' },
      { person: 'b', ref: 'y' },
    ],
    needed: 2,
  }
  assert.deepEqual(approversOf({ ...given, maker: 'max' }, 2), {
    people: [
      { person: 'b', ref: 'y' },
      { person: 'a', ref: 'z' },
    ],
    needed: 2,
    maker: 'max',
  })
})

test('the minimum of a configuration is from two to five people', () => {
  for (const minimum of [2, 3, 4, 5]) checkMinimum(minimum)
  for (const minimum of [0, 1, 6, 2.5, '2', undefined, null])
    assert.throws(() => checkMinimum(minimum), {
      code: 'invalid_configuration',
      message: 'quorum.minimum must be an integer from 2 to 5.',
    })
})

test('each state in which nothing runs has its own error', () => {
  const before = ['outcome_unknown', 'The action was started before, and its end is not known.']
  const executed = ['already_executed', 'The approval was executed before.']
  for (const [state, ...expected] of [
    ['running', ...before],
    ['unknown', ...before],
    ['withdrawn', 'not_approved', 'The request was withdrawn.'],
    ['done', ...executed],
    ['completed', ...executed],
    ['reported_late', ...executed],
    ['unreported', ...executed],
    ['failed', ...executed],
  ] as const) {
    const [code, message] = expected
    assert.throws(() => rejectState(state), { code, message }, state)
  }
  rejectState('waiting')
})
