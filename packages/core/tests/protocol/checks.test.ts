import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Check } from '../../src/protocol/checks.ts'
import { CHECKS } from '../../src/protocol/checks.ts'
import type { Call } from '../../src/protocol/facts.ts'
import { checksOf, runChecks, runReadingChecks } from '../../src/protocol/run-checks.ts'
import { type Changeable, factsOf, passingFacts } from './call-facts.ts'
import { EXCLUSIVE, faultOf } from './faults.ts'

const CALLS: readonly Call[] = [
  'claim',
  'decline',
  'evidence',
  'attest',
  'read',
  'browser',
  'recover',
  'token',
  'add',
  'remove',
]
type Fault = (facts: Changeable) => void

/** Runs a column of the table. */
function run(call: Call, faults: readonly Fault[], rows: readonly Check[] = checksOf(call)) {
  const given = passingFacts(call)
  for (const fault of faults) fault(given)
  const { facts, written } = factsOf(given)
  const work = runChecks(call, facts as never, rows)
  let step = work.next()
  while (step.done !== true) step = work.next()
  return { check: step.value?.check, rejection: step.value?.rejection, written }
}

/** The rows of a call with what fails each of them. */
function faultsOf(call: Call): { check: Check; fault: Fault }[] {
  const seen = new Map<string, number>()
  return checksOf(call).map((check) => {
    const nth = seen.get(check.step) ?? 0
    seen.set(check.step, nth + 1)
    return { check, fault: faultOf(call, check, nth) }
  })
}

/** A row that asks the verifier. One assertion fails at one of its steps. */
const isOfVerifier = (call: Call, { fault }: { fault: Fault }) => {
  const given = passingFacts(call)
  fault(given)
  return given.fault !== undefined
}

test('every check is a row of one table, and every call has its column', () => {
  assert.equal(CHECKS.length, new Set<Check>(CHECKS).size)
  assert.deepEqual(
    CHECKS.filter(({ calls }: Check) => calls.length === 0),
    [],
  )
  for (const call of CALLS) assert.ok(checksOf(call).length > 5, call)
})

for (const call of CALLS) {
  const rows = faultsOf(call)

  test(`${call}: facts without a fault pass`, () => {
    assert.equal(run(call, []).check, undefined)
  })

  for (const { check, fault } of rows)
    test(`${call}: ${check.step} (${check.reason}) fails alone, and is missed when it is dropped`, () => {
      const { check: failed, rejection } = run(call, [fault])
      assert.equal(failed, check)
      assert.equal(rejection?.reason, check.reason)
      assert.equal(rejection?.step, check.step)
      const without = rows.map((row) => row.check).filter((row) => row !== check)
      assert.notEqual(run(call, [fault], without).check, check)
    })

  for (const [i, first] of rows.entries()) {
    const second = rows[i + 1]
    if (second === undefined) continue
    const name = `${call}: ${first.check.step} comes before ${second.check.step}`
    const pair = [first.check.step, second.check.step]
    const excluded = EXCLUSIVE.find(({ steps }) => pair.every((step) => steps.includes(step)))
    const bothOfVerifier = isOfVerifier(call, first) && isOfVerifier(call, second)
    const isLast = second.check.step === 'assertion'
    if (excluded !== undefined || (bothOfVerifier && !isLast)) continue
    test(name, () => {
      // The catch-all row fails with every row of the verifier.
      const faults = isLast ? [first.fault] : [second.fault, first.fault]
      assert.equal(run(call, faults).check, first.check)
      const order = rows.map((row) => row.check)
      const swapped = order.toSpliced(i, 2, second.check, first.check)
      assert.equal(run(call, faults, swapped).check, second.check)
    })
  }
}

test('only a call that passes every earlier check raises a counter or uses a challenge up', () => {
  for (const call of CALLS) {
    const rows = faultsOf(call)
    const writing = rows.findIndex(
      ({ check }) => ['counter', 'challenge'].includes(check.step) && isWriting(check, call),
    )
    if (writing === -1) continue
    for (const { fault } of rows.slice(0, writing)) assert.deepEqual(run(call, [fault]).written, [])
  }
})

test('the reading checks stop before the first that writes', () => {
  const given = passingFacts('add')
  given.counterRises = false
  const { facts, written } = factsOf(given)
  assert.equal(runReadingChecks('add', facts as never), undefined)
  assert.deepEqual(written, [])
})

test('the checks that count are those that only a forger fails', () => {
  const counting = CHECKS.filter(({ counts }: Check) => counts).map(({ step }: Check) => step)
  assert.deepEqual(counting, ['client_data_hash', 'signature', 'app_id', 'evidence_mac'])
})

function isWriting(check: Check, call: Call): boolean {
  const { facts } = factsOf(passingFacts(call))
  return typeof check.fails(facts as never) !== 'boolean'
}
