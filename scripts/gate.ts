import { globSync } from 'node:fs'
import { matchesGlob, resolve } from 'node:path'
import { type Batch, filesOf, filesRunBy, type Tier, TIERS } from './tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * The tiers of the gate (`.ci/run`) besides the fast tests, whose files run at once, so that the
 * waits of one are the time of another. Only the whole run (`.ci/full`) has the others: what
 * searches, repeats, installs from a registry, or builds an image.
 */
const GATE: readonly Tier[] = ['service', 'e2e', 'postgres']

/**
 * Files of these tiers that only the whole run has, because a file of the gate protects the user
 * from the same defect.
 */
export const ONLY_IN_FULL: readonly string[] = [
  // The demo. `tests/first-bond.test.ts` has its bond, and `packages/phone-page/tests` its screens.
  'examples/demo/tests/{agent,layout,scenarios}.test.ts',
  // `try.test.ts` beside it has the command, and `packages/phone-page/tests` the screens.
  'packages/sandbox/tests/try-page.test.ts',
  // Every language and older engines. The gate draws the phone's request in every language
  // (`request-in-view.test.ts`).
  'packages/widget/tests/every-language.test.ts',
  'packages/phone-page/tests/{languages,oldest-browsers}.test.ts',
  'tests/widget/firefox/firefox.test.ts',
  // Every screen in each look and language. The gate holds what a user reads before an approval
  // in view (`request-in-view.test.ts`), and the texts in each script (`drawn-texts.test.ts`).
  'packages/phone-page/tests/{frame-screens,screens}.test.ts',
  'packages/console/tests/pages.test.ts',
  'tests/display-texts.test.ts',
  // Honest layouts that must not be reported. `breaches.test.ts` beside it has what must be.
  'packages/widget/tests/containment/layouts.test.ts',
  // The widget in boxes of many sizes, and with slow styles. `appearance.test.ts` beside it draws
  // it, and `containment/breaches.test.ts` has what leaves its box.
  'packages/widget/tests/{cold-load,layout}.test.ts',
  // Faults planted into the Python library. `python.test.ts` beside it has the vectors.
  'packages/python/tests/planted.test.ts',
  // What kills, fills or ends a command at each step. The gate restores on SQLite
  // (`restore.test.ts`), and `shown-secrets.test.ts` has what a command shows once.
  'packages/cli/tests/postgres/backup.test.ts',
  'packages/cli/tests/database/killed-commands.test.ts',
  'packages/cli/tests/program/lost-output.test.ts',
  // Commands of the sandbox. `trigger.test.ts` and `clock.test.ts` beside them have what they do.
  'packages/sandbox/tests/{clock-command,trigger-command}.test.ts',
  // Crashes in rounds. `packages/store/tests` has one of each.
  'proofs/tests/{,postgres/}durability.test.ts',
  // Twenty attacks in browsers. `break-this-bond.test.ts` plays the relays against the core, and
  // `tests/widget/browser-proof` shows that another browser with the same request is not bonded.
  'proofs/tests/{relay,relay-people}.test.ts',
  // The conformance plan of FAPI-CIBA. `ciba.test.ts` beside it has what a client relies on.
  'packages/ciba/tests/fapi-ciba.test.ts',
  // The page around the levels, which `break-this-bond.test.ts` beside it plays.
  'proofs/tests/break-this-bond-page.test.ts',
  // A compiler, and twenty processes. The gate holds the product against the kit in
  // `targets.test.ts` beside it.
  'proofs/tests/kit/{go,planted-faults}.test.ts',
  // 2,000 approvals under kills. `packages/store/tests` has an execution that dies at each step.
  'tests/nodes/killed-approvals.test.ts',
  'packages/ciba/tests/killed-provider.test.ts',
  'packages/cli/tests/killed-output.test.ts',
  // What installs packages, or runs programs of guides.
  'packages/widget/tests/npm.test.ts',
  'packages/python/tests/{guide,wheel}.test.ts',
  'tests/{npm-signals,quickstart}.test.ts',
  'tests/outside/*.test.ts',
  'tests/pack/*.test.ts',
  'tests/guides/{receipts,sandbox,screenshot,two-people}.test.ts',
  'tests/samples/programs.test.ts',
  'tests/deploy/{booted-units,first-alert,image}.test.ts',
  // Several nodes under load, with faults. The gate has two nodes and their changes.
  'tests/nodes/{browser-proofs,failover,faults,histories,proxy-restart}.test.ts',
  'tests/nodes/{receipt-log,rolling-restart,rolling-upgrade}.test.ts',
  'packages/cli/tests/postgres/{closed-log,failover,returned-primary}.test.ts',
]

/** Of the files that the tier `postgres` runs again, those that the gate repeats too. */
export const ON_POSTGRES_IN_GATE: readonly string[] = [
  'packages/server/tests/api/lifecycle.test.ts',
  'packages/server/tests/http/one-response.test.ts',
  'packages/store/tests/tables/table-contract.test.ts',
  'tests/pressure/races.test.ts',
]

/** What the gate runs after the fast tests. */
export function filesOfGate(): readonly Batch[] {
  return GATE.map((tier) => ({
    tier,
    files: [
      ...filesOf(tier).filter((file) => !isOnlyInFull(file)),
      ...(tier === 'postgres' ? globSync([...ON_POSTGRES_IN_GATE], { cwd: ROOT }) : []),
    ].toSorted(),
  }))
}

/** What the whole run adds to the gate. */
export function filesOfRest(): readonly Batch[] {
  const inGate = filesOfGate()
  return TIERS.filter((tier) => tier !== 'test').map((tier) => {
    const done = inGate.find((batch) => batch.tier === tier)?.files ?? []
    return { tier, files: filesRunBy(tier).filter((file) => !done.includes(file)) }
  })
}

function isOnlyInFull(file: string): boolean {
  return ONLY_IN_FULL.some((pattern) => matchesGlob(file, pattern))
}
