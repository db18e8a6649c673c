import { GateError } from '../errors.ts'
import type { GatePolicy } from './dependencies.ts'

type BrowserRule = NonNullable<GatePolicy['requireBrowser']>[string]

/** What the gate requires of the browser in a workflow, if anything. */
export function browserRuleOf(
  { requireBrowser = {} }: GatePolicy,
  workflow: string,
): BrowserRule | undefined {
  // A workflow may be named `constructor`, which every object inherits.
  return Object.hasOwn(requireBrowser, workflow) ? requireBrowser[workflow] : undefined
}

/** @throws {GateError} `invalid_configuration` for a rule that could never pass or not bind */
export function checkBrowserRules({ requireBrowser = {} }: GatePolicy): void {
  for (const [workflow, rule] of Object.entries(requireBrowser)) {
    const { origin } = rule
    if (typeof origin !== 'string' || !URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new GateError(
        'invalid_configuration',
        `policy.requireBrowser of ${workflow} must have the exact origin of the page, such as https://www.bank.example.`,
      )
  }
}

/** @throws {GateError} `invalid_request` for a session without the user that the gate requires */
export function checkNamedUser(
  policy: GatePolicy,
  { workflow, subject_ref }: { workflow: string; subject_ref: string | null },
): void {
  const rule = browserRuleOf(policy, workflow)
  if (rule === undefined || rule.firstBond === true || subject_ref !== null) return
  throw new GateError(
    'invalid_request',
    'The gate requires the browser: pass the user’s subject_ref, or set firstBond for this workflow.',
  )
}
