import { GateError } from '../errors.ts'
import type { GatePolicy } from './dependencies.ts'

export type BrowserRule = NonNullable<GatePolicy['requireBrowser']>[string]

/** What the gate requires of the browser in a workflow, if anything. */
export function browserRuleOf(
  { requireBrowser = {} }: GatePolicy,
  workflow: string,
): BrowserRule | undefined {
  // A workflow may be named `constructor`, which every object inherits.
  return Object.hasOwn(requireBrowser, workflow) ? requireBrowser[workflow] : undefined
}

/** What the integrator's log says: a browser has proved this session, and the gate has no rule. */
export function browserRuleMissing(workflow: string): GateError {
  return new GateError(
    'invalid_configuration',
    `The workflow requires the browser at the service: name the origin of the page in policy.requireBrowser for ${workflow}.`,
  )
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
