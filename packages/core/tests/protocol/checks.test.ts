import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Check, CHECKS } from '../../src/protocol/checks.ts'
import type { Call } from '../../src/protocol/facts.ts'
import { checksOf, runChecks, runReadingChecks } from '../../src/protocol/run-checks.ts'
import { type Changeable, factsOf, passingFacts } from './call-facts.ts'
import { faultOf } from './faults.ts'
import { COUNTING, type Entry, PROMISED_CHECKS, SUSPECTING, WRITING } from './promised.ts'

/*
 * The page of the protocol, in `promised.ts`, has every expected value of these tests, and
 * `faults.ts` has what makes a call fail a row. The table under test has neither.
 */

type Fault = (facts: Changeable) => void

/** A row that a call must have. */
interface Promised {
  readonly name: string
  readonly fault: Fault
  /** Which entry of the call it is in. Rows of one entry have no order. */
  readonly entry: number
  readonly writes: boolean
}

const CALLS = Object.keys(PROMISED_CHECKS) as readonly Call[]
const nameOf = ({ step, reason }: Pick<Check, 'step' | 'reason'>) => `${step}:${reason}`

/** Runs the checks of a call. */
function run(call: Call, faults: readonly Fault[], rows: readonly Check[] = checksOf(call)) {
  const given = passingFacts(call)
  for (const fault of faults) fault(given)
  const { facts, written } = factsOf(given)
  const work = runChecks(call, facts as never, rows)
  let step = work.next()
  while (step.done !== true) step = work.next()
  const { check, rejection } = step.value ?? {}
  const { step: name = '', reason = '' } = rejection ?? {}
  return { check, answer: rejection && `${name}:${reason}`, written }
}

/** The rows that a call must have, with what fails each of them. */
function promisedOf(call: Call): readonly Promised[] {
  const names = PROMISED_CHECKS[call].flatMap((entry, index) =>
    [entry].flat().map((name) => ({ name, entry: index })),
  )
  const stepOf = (name: string) => name.split(':')[0] ?? ''
  return names.map(({ name, entry }, index) => {
    const [step = '', reason = ''] = name.split(':')
    const same = names.flatMap((one, place) => (stepOf(one.name) === step ? [place] : []))
    return {
      name,
      entry,
      fault: faultOf(call, { step, reason }, same.indexOf(index)),
      // Of two rows with one step, the later one writes: the earlier one only reads.
      writes: WRITING[call].includes(step) && index === same.at(-1),
    }
  })
}

/** The steps of the rows for which it holds, in their order. */
const stepsWhere = (call: Call, holds: (check: Check) => boolean) =>
  checksOf(call).flatMap((check) => (holds(check) ? [check.step] : []))

for (const call of CALLS) {
  const entries = PROMISED_CHECKS[call]
  const promised = promisedOf(call)

  test(`${call}: has the rows that the protocol promises, in its order`, () => {
    const names = checksOf(call).map(nameOf)
    const sorted: string[][] = []
    for (const entry of entries) sorted.push(names.splice(0, [entry].flat().length).toSorted())
    assert.deepEqual(
      sorted,
      entries.map((entry: Entry) => [entry].flat().toSorted()),
    )
    assert.deepEqual(names, [])
  })

  test(`${call}: suspects and writes at the rows that the protocol promises`, () => {
    assert.deepEqual(
      stepsWhere(call, ({ suspects }) => suspects),
      SUSPECTING[call],
    )
    const { facts } = factsOf(passingFacts(call))
    assert.deepEqual(
      stepsWhere(call, ({ fails }) => typeof fails(facts as never) !== 'boolean'),
      WRITING[call],
    )
  })

  test(`${call}: facts without a fault pass, and are written`, () => {
    const { answer, written } = run(call, [])
    assert.equal(answer, undefined)
    assert.deepEqual(written, WRITING[call])
  })

  for (const [index, { name, fault }] of promised.entries())
    test(`${call}: ${name} fails alone, after the writes of the rows before it`, () => {
      const { check, answer, written } = run(call, [fault])
      assert.equal(answer, name)
      assert.deepEqual(
        written,
        promised.flatMap((row, at) => (row.writes && at <= index ? row.name.split(':')[0] : [])),
      )
      const others = checksOf(call).filter((row) => row !== check)
      assert.notEqual(run(call, [fault], others).answer, name)
    })

  for (const [index, entry] of entries.entries()) {
    const rows = promised.filter((row) => row.entry === index)
    const next = promised.filter((row) => row.entry === index + 1)
    const [first = '', last = ''] = [rows[0]?.name, rows.at(-1)?.name]

    if (next.length > 0)
      test(`${call}: ${last} comes before ${next[0]?.name}`, () => {
        for (const row of rows)
          for (const later of next) {
            // The fault of the first row is the second one, which replaces a step of the verifier.
            const faults = [later.fault, row.fault]
            const { check, answer } = run(call, faults)
            assert.equal(answer, row.name)
            const others = checksOf(call).filter((one) => one !== check)
            assert.equal(run(call, faults, others).answer, later.name, 'both fail')
          }
      })

    if (typeof entry !== 'string')
      test(`${call}: the rows from ${first} to ${last} exclude each other`, () => {
        const start = promised.findIndex((row) => row.entry === index)
        const reversed = checksOf(call)
          .slice(start, start + rows.length)
          .toReversed()
        const turned = checksOf(call).toSpliced(start, rows.length, ...reversed)
        for (const one of rows)
          for (const other of rows) {
            const faults = [one.fault, other.fault]
            assert.equal(run(call, faults, turned).answer, run(call, faults).answer)
          }
      })
  }
}

test('the checks that count are those that only a forger of an attestation fails', () => {
  const counting = CHECKS.filter(({ counts }: Check) => counts).map(({ step }: Check) => step)
  assert.deepEqual(counting, COUNTING)
})

test('a bonded session of a quorum can be declined, which takes the approval back, and no other one can', () => {
  const bonded =
    (quorumId: string | null): Fault =>
    ({ session }) => {
      Object.assign(session, { state: 'bonded', quorumId })
    }
  assert.equal(run('decline', [bonded('quo_1')]).answer, undefined)
  assert.equal(run('decline', [bonded(null)]).answer, 'session_live:session_not_live')
  for (const call of ['claim', 'evidence', 'attest'] as const)
    assert.equal(run(call, [bonded('quo_1')]).answer, 'session_live:session_not_live')
})

test('a phone approves in a quorum only if it says that it shows the rule', () => {
  const asked =
    (...shows: string[]): Fault =>
    (facts) => {
      const quorum = { id: 'quo_1', needed: 2, of: 3 }
      Object.assign(facts.session, { context: { display: [], quorum } })
      facts.shows = shows
    }
  for (const call of ['claim', 'attest'] as const) {
    const answer = run(call, [asked('text', 'requester', 'directional_marks')]).answer
    assert.equal(answer, 'shows:key_format_not_accepted')
    assert.equal(run(call, [asked('quorum')]).answer, undefined)
  }
  assert.equal(run('decline', [asked()]).answer, undefined)
})

test('the reading checks stop before the first that writes', () => {
  const given = passingFacts('add')
  given.counterRises = false
  const { facts, written } = factsOf(given)
  assert.equal(runReadingChecks('add', facts as never), undefined)
  assert.deepEqual(written, [])
})
