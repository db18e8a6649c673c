import assert from 'node:assert/strict'
import { samplesOf } from './samples/samples.ts'

const LABEL = 'run by tests/quickstart.test.ts'

/** The blocks of the quickstart that take one session to its end. Only the port is replaced. */
export function quickstartSteps(port: number): {
  /** Starts the service, in a terminal of its own. */
  readonly start: readonly string[]
  /** What bash runs in a second terminal. */
  readonly reader: readonly string[]
} {
  const [start = '', ...commands] = samplesOf('docs/guides/quickstart.md')
    .filter(({ label }) => label === LABEL)
    .map(({ code }) => code.replaceAll('http://localhost:8787', `http://localhost:${port}`))
  assert.equal(start.trim(), 'npx bonded serve')
  return {
    start: start.trim().split(' '),
    reader: ['bash', '-euo', 'pipefail', '-c', commands.join('\n')],
  }
}

/** Asserts that the blocks have printed what the guide says. */
export function assertBonded(printed: string): void {
  assert.match(printed, /Approved\. The session is bonded\./)
  assert.match(printed, /^completed application stored$/m)
  assert.match(printed, /  completed/)
}
