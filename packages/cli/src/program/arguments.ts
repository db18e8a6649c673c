import {
  type DeviceId,
  type IdPrefix,
  parseId,
  parseInstant,
  type SessionId,
  type SubjectId,
  type TenantId,
  type WebhookEndpointId,
} from '@bonded/contract'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'

/** Upper bound of what one call prints. */
const MAX_LISTED = 1_000
/** A screenful. */
const DEFAULT_LISTED = 50

/** The argument `<tenant>`, parsed to a TenantId. */
export const tenantArgument = () =>
  new Argument('<tenant>', 'Tenant id (ten_…)').argParser(parseTenantId)

/** The argument `<tenant>` of a webhook command: a tenant, or the operator. */
export const ownerArgument = () =>
  new Argument('<tenant>', 'Tenant id (ten_…), or "operator" for the audit log').argParser(
    (text: string) => (text === 'operator' ? text : parseTenantId(text)),
  )

/** The argument `[tenant]`, which narrows a list to one tenant. */
export const optionalTenantArgument = () =>
  new Argument('[tenant]', 'Only of this tenant (ten_…)').argParser(parseTenantId)

/** The argument `<session>`, parsed to a SessionId. */
export const sessionArgument = () =>
  new Argument('<session>', 'Session id (sess_…)').argParser(parseSessionId)

/** The argument `<device>`, parsed to a DeviceId. */
export const deviceArgument = () =>
  new Argument('<device>', 'Device id (dev_…)').argParser(parseDeviceId)

/** The argument `[subject]`, parsed to a SubjectId. */
export const subjectArgument = () =>
  new Argument('[subject]', 'Subject id (sub_…)').argParser(parseSubjectId)

/** The argument `<endpoint>`, parsed to a WebhookEndpointId. */
export const endpointArgument = () =>
  new Argument('<endpoint>', 'Webhook endpoint id (we_…)').argParser(parseEndpointId)

/** The argument `<event>`, parsed to an EventId. */
export const eventArgument = () =>
  new Argument('<event>', 'Event id (evt_…)').argParser((text: string) =>
    parsed(parseId('evt', text), 'evt'),
  )

/** The option `--limit`. */
export const limitOption = () =>
  new Option('--limit <number>', `Maximum number of results, up to ${MAX_LISTED}`)
    .argParser(wholeNumber(MAX_LISTED))
    .default(DEFAULT_LISTED, String(DEFAULT_LISTED))

/** The option `--json`. Every command has it, and one that adds none gets this one. */
export const jsonOption = (description = 'Print one JSON document') =>
  new Option('--json', description)

/** @throws {InvalidArgumentError} where the text is not the id of a tenant */
export function parseTenantId(text: string): TenantId {
  return parsed(parseId('ten', text), 'ten')
}

/** @throws {InvalidArgumentError} where the text is not the id of a session */
export function parseSessionId(text: string): SessionId {
  return parsed(parseId('sess', text), 'sess')
}

/** @throws {InvalidArgumentError} where the text is not the id of a device */
export function parseDeviceId(text: string): DeviceId {
  return parsed(parseId('dev', text), 'dev')
}

/** @throws {InvalidArgumentError} where the text is not the id of a subject */
export function parseSubjectId(text: string): SubjectId {
  return parsed(parseId('sub', text), 'sub')
}

/** @throws {InvalidArgumentError} where the text is not the id of a webhook endpoint */
export function parseEndpointId(text: string): WebhookEndpointId {
  return parsed(parseId('we', text), 'we')
}

function parsed<Id>(id: Id | undefined, prefix: IdPrefix): Id {
  if (id === undefined)
    throw new InvalidArgumentError(`Expected ${prefix}_ followed by 22 letters and digits.`)
  return id
}

/** @throws {InvalidArgumentError} where the text is not a time of ISO 8601 in UTC */
export function parseTime(text: string): number {
  const instant = parseInstant(text)
  if (instant !== undefined) return instant
  throw new InvalidArgumentError('Expected a time such as 2026-11-21T08:00:00Z.')
}

/**
 * Rejects `--since` after `--until`, which would find nothing. Each command with both has this as
 * its `preAction` hook.
 */
export function rejectReversedRange(command: Command): void {
  const { since, until } = command.opts<{ since?: number; until?: number }>()
  if (since !== undefined && until !== undefined && since > until)
    command.error('error: --since is later than --until. Exchange the two times.')
}

/** Parses an option that is a whole number from `min` to `max`. */
export function wholeNumber(max: number, min = 1): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max))
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    return number
  }
}
