import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

const GUIDE = readFileSync(resolve(import.meta.dirname, '../docs/guides/quickstart.md'), 'utf8')
/**
 * tests/pack/pack.test.ts runs the part before. The last section needs a browser;
 * tests/first-bond.test.ts has the same flow.
 */
const [STEPS = ''] = GUIDE.split('\n## Each step with curl\n')[1]?.split('\n## Add a page') ?? []

/** The blocks of the quickstart that take one session to its end. Only the port is replaced. */
export function quickstartSteps(port: number): {
  /** Starts the service, in a terminal of its own. */
  readonly start: readonly string[]
  /** What bash runs in a second terminal. */
  readonly reader: readonly string[]
} {
  const [start = '', ...commands] = [...STEPS.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
    ([, block = '']) => block.replaceAll('http://localhost:8787', `http://localhost:${port}`),
  )
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
