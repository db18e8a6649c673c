import assert from 'node:assert/strict'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { browserMissing } from '../browser.ts'
import { machine } from '../harness/process.ts'
import { RELAY_CHECKS } from './relay-checks.ts'
import { SourcesCopy } from './sources-copy.ts'

/*
 * Each check of the browser's proof, removed singly: `npm run prove:relay` must report it. A few of
 * them run by default. `RELAY_MUTANTS=all` runs all, in several minutes.
 */

const wanted = RELAY_CHECKS.filter(
  ({ everyRun }) => everyRun || process.env['RELAY_MUTANTS'] === 'all',
)
const copy = new SourcesCopy(resolve(import.meta.dirname, '../..'))
after(() => copy[Symbol.dispose]())

interface Report {
  readonly ok: boolean
  readonly scenarios: readonly {
    readonly with: { readonly passed: number }
    readonly findings: readonly string[]
  }[]
}

for (const { mutant, attack } of wanted)
  test(`attack ${attack} shows it when ${mutant.name}`, {
    skip: browserMissing,
    timeout: 300_000,
  }, async (t) => {
    using m = machine({
      program: ['--conditions=@bonded/source', join(copy.root, 'proofs/relay/main.ts')],
    })
    const { status, stdout, stderr } = await copy.withMutant(mutant, async () =>
      m.run('--only', String(attack), '--json'),
    )
    assert.equal(status, 1, stdout + stderr)
    const { scenarios } = JSON.parse(stdout) as Report
    const findings = scenarios.flatMap((scenario) => scenario.findings)
    assert.ok(findings.length > 0, stdout)
    const hasPassed = scenarios.some((scenario) => scenario.with.passed > 0)
    t.diagnostic(`${hasPassed ? 'passes' : 'is stopped elsewhere'}: ${findings.join(' | ')}`)
  })
