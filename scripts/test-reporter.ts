import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { inspect } from 'node:util'
import type { TestEvent } from 'node:test/reporters'

const SLOWEST = 10
/** The lines of a failure that the sum of all tiers repeats. */
const LINES_OF_FAILURE = 20
/** The reasons in `packages/contract/tests/vectors.ts` and `scripts/continuity/recordings.ts`. */
const WITHOUT_RECORDINGS = /^: the recorded (?:vectors are|motion is) not at /

/**
 * Ends a run: the slowest files, every skipped test with its reason, and the totals in one line,
 * `N passed, N failed, N skipped`. Appends the totals as JSON to the file that `TEST_TOTALS` names.
 */
export default async function* totals(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skipped: string[] = []
  const failures: string[] = []
  let unrecorded = 0
  const files: { name: string; seconds: number }[] = []
  let failedFiles = 0
  for await (const { type, data } of source) {
    if ((type === 'test:pass' || type === 'test:fail') && data.details.type === 'suite') {
      // A batch runs each file as a suite of this name.
      if (data.nesting === 0)
        files.push({ name: data.name, seconds: data.details.duration_ms / 1_000 })
      // The counts contain no suites, and a file that cannot be imported has no test.
      if (
        type === 'test:fail' &&
        Reflect.get(data.details.error, 'failureType') !== 'subtestsFailed'
      )
        failedFiles++
    }
    if (type === 'test:fail' && data.details.type !== 'suite') {
      const { error } = data.details
      const lines = inspect(error.cause ?? error)
        .split('\n')
        .slice(0, LINES_OF_FAILURE)
      failures.push([`FAILED ${nameOf(data.file)}: ${data.name}`, ...lines].join('\n  '))
    }
    if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) {
      const reason = data.skip === true ? '' : `: ${data.skip}`
      if (WITHOUT_RECORDINGS.test(reason)) unrecorded++
      skipped.push(`SKIPPED ${nameOf(data.file)}: ${data.name}${reason}\n`)
    }
    if (type !== 'test:summary') continue
    if (data.file !== undefined) {
      if (data.counts.suites === 0)
        files.push({ name: nameOf(data.file), seconds: data.duration_ms / 1_000 })
      continue
    }
    const { tests, passed, todo, skipped: count } = data.counts
    const sum = { passed, failed: tests - passed - todo - count + failedFiles, skipped: count }
    yield '\nslowest files\n'
    for (const { name, seconds } of files
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, SLOWEST))
      yield `${seconds.toFixed(1).padStart(7)} s  ${name}\n`
    yield skipped.join('')
    yield `in ${(data.duration_ms / 1_000).toFixed(0)} s: ${lineOf(sum)}\n`
    const { TEST_TOTALS } = process.env
    if (TEST_TOTALS !== undefined)
      appendFileSync(TEST_TOTALS, `${JSON.stringify({ ...sum, unrecorded, failures })}\n`)
  }
}

export interface Totals {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** The totals of a run, as they are written to the file. */
export interface WrittenTotals extends Totals {
  /** Those of the skipped tests that need recordings, which a clone does not have. */
  readonly unrecorded?: number
  /** Each failed test: its file, its name, and the first lines of its failure. */
  readonly failures?: readonly string[]
}

/** CI parses this line. */
export function lineOf({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

function nameOf(file = ''): string {
  return relative(process.cwd(), file)
}
