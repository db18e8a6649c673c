import { isExactOrigin } from '@bonded/contract'
import { GateError } from '../errors.ts'
import type { BrowserRule } from './browser-rule.ts'
import type { GatePolicy } from './dependencies.ts'

type PassportRule = NonNullable<GatePolicy['passport']>[string]

const PASSPORT_RULES: readonly PassportRule[] = ['none', 'optional', 'required']

/**
 * Copies a policy. A misspelled member would require nothing, so each member must be known, an own
 * one, and of its type.
 *
 * @throws {GateError} `invalid_configuration`, which names the member
 */
export function parsePolicy(given: unknown): GatePolicy {
  const members = ownMembers('policy', given, ['tenant_id', 'passport', 'requireBrowser'])
  const { tenant_id, passport, requireBrowser } = members
  if (tenant_id !== undefined && (typeof tenant_id !== 'string' || tenant_id === ''))
    throw wrong('policy.tenant_id must be the id of your tenant.')
  return Object.freeze({
    ...(tenant_id !== undefined && { tenant_id }),
    ...(passport !== undefined && {
      passport: byWorkflow('policy.passport', passport, parsePassport),
    }),
    ...(requireBrowser !== undefined && {
      requireBrowser: byWorkflow('policy.requireBrowser', requireBrowser, parseBrowserRule),
    }),
  })
}

/** @throws {GateError} `invalid_configuration` for a member that is not in the list */
export function rejectUnknownMembers(of: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(of).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw wrong(`${prefix}${unknown} is not an option. The options are ${known.join(', ')}.`)
}

function byWorkflow<Rule>(
  path: string,
  given: unknown,
  parse: (path: string, rule: unknown) => Rule,
): Readonly<Record<string, Rule>> {
  const rules = Object.entries(ownMembers(path, given))
  // No prototype: a workflow may be named `constructor`.
  const copy = Object.create(null) as Record<string, Rule>
  for (const [workflow, rule] of rules) copy[workflow] = parse(`${path}.${workflow}`, rule)
  return Object.freeze(copy)
}

function parsePassport(path: string, rule: unknown): PassportRule {
  const known = PASSPORT_RULES.find((name) => name === rule)
  if (known === undefined) throw wrong(`${path} must be one of ${PASSPORT_RULES.join(', ')}.`)
  return known
}

function parseBrowserRule(path: string, rule: unknown): BrowserRule {
  const { origin, firstBond } = ownMembers(path, rule, ['origin', 'firstBond'])
  if (typeof origin !== 'string' || !isExactOrigin(origin))
    throw wrong(
      `${path} must have the exact origin of the page, such as {"origin":"https://www.bank.example"}.`,
    )
  if (firstBond !== undefined && typeof firstBond !== 'boolean')
    throw wrong(`${path}.firstBond must be true or false.`)
  return Object.freeze({ origin, ...(firstBond !== undefined && { firstBond }) })
}

/** The own members of a plain object. Those of a class or of a changed prototype do not count. */
function ownMembers(
  path: string,
  given: unknown,
  known?: readonly string[],
): Readonly<Record<string, unknown>> {
  const isPlain =
    typeof given === 'object' &&
    given !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(given) as null)
  if (!isPlain) throw wrong(`${path} must be a plain object.`)
  if (known !== undefined) rejectUnknownMembers(given, known, `${path}.`)
  return Object.assign(Object.create(null) as Record<string, unknown>, given)
}

function wrong(message: string): GateError {
  return new GateError('invalid_configuration', message)
}
