import type { Rejection } from '../domain/rejection.ts'
import type { Work } from '../ports/work.ts'
import { type Check, CHECKS } from './checks.ts'
import type { Call, CallFacts } from './facts.ts'

/** The check that a call fails, and its rejection. */
export interface Failure {
  readonly check: Check
  readonly rejection: Rejection
}

/** Returns the first failing check; undefined if none fails. Only tests give other `checks`. */
export function* runChecks<C extends Call>(
  call: C,
  facts: CallFacts[C],
  checks = checksOf(call),
): Work<Failure | undefined> {
  for (const check of checks) {
    const failed = check.fails(facts as never)
    if (typeof failed === 'boolean' ? failed : yield* failed) return failureOf(check, facts)
  }
  return undefined
}

/** Does the same up to the first check that writes, which it does not run. */
export function runReadingChecks<C extends Call>(
  call: C,
  facts: CallFacts[C],
): Failure | undefined {
  for (const check of checksOf(call)) {
    const failed = check.fails(facts as never)
    if (typeof failed !== 'boolean') return undefined
    if (failed) return failureOf(check, facts)
  }
  return undefined
}

/** The checks of a call, in their order: its column of the table. */
export function checksOf(call: Call): readonly Check[] {
  return COLUMNS[call]
}

const columnOf = (call: Call) => CHECKS.filter(({ calls }: Check) => calls.includes(call))
const COLUMNS: Readonly<Record<Call, readonly Check[]>> = {
  claim: columnOf('claim'),
  decline: columnOf('decline'),
  evidence: columnOf('evidence'),
  attest: columnOf('attest'),
  read: columnOf('read'),
  browser: columnOf('browser'),
  recover: columnOf('recover'),
  token: columnOf('token'),
  add: columnOf('add'),
  remove: columnOf('remove'),
  inbox: columnOf('inbox'),
  resume: columnOf('resume'),
  push: columnOf('push'),
}

function failureOf(check: Check, facts: unknown): Failure {
  const { reason, step, says } = check
  return { check, rejection: { reason, step, ...says(facts as never) } }
}
