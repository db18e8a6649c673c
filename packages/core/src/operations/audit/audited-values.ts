import type { AuditTarget } from '../../domain/audit.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { KeyListing } from '../../ports/tables/tenant-table.ts'
import type { WebhookEndpoint } from '../../ports/tables/webhook-table.ts'
import type { Work } from '../../ports/work.ts'
import type { Service } from '../service.ts'

/**
 * What an entry shows of each row, before and after. No other member of a row reaches the audit
 * log: no secret, and no column about a user but the status.
 */
const TENANT = [
  'name',
  'environment',
  'demo',
  'origins',
  'workflows',
  'sessionEndpoint',
  'retention',
  'limits',
  'logo',
  'suspendedAt',
] as const satisfies readonly (keyof Tenant)[]
const KEY = [
  'kind',
  'name',
  'scope',
  'revokedAt',
  'expiresAt',
] as const satisfies readonly (keyof KeyListing)[]
const ENDPOINT = [
  'events',
  'scheme',
  'loggedCharacters',
  'previousUntil',
  'disabledAt',
  'disabledReason',
] as const satisfies readonly (keyof WebhookEndpoint)[]
const SESSION = ['state', 'endedReason'] as const satisfies readonly (keyof Session)[]
const DEVICE = ['status'] as const satisfies readonly (keyof Device)[]

/** Values by kind and member, such as `tenant.name`. */
type AuditedValues = Readonly<Record<string, unknown>>

/** The values of the rows that a target names. A unit that writes locks those rows. */
export function* auditedValues(
  { keys }: Pick<Service, 'keys'>,
  tables: Tables,
  target: AuditTarget,
): Work<AuditedValues> {
  const { tenantId, key, endpointId, sessionId, deviceId, subjectId, subjectRef } = target
  const tenant = tenantId && (yield* tables.tenants.find(tenantId))
  const found = key && (yield* tables.tenants.findKey(key))
  const endpoint = endpointId && (yield* tables.webhooks.findEndpoint(endpointId))
  const device = deviceId && (yield* tables.devices.find(deviceId))
  const session = sessionId && (yield* tables.sessions.find(sessionId))
  const reference =
    tenantId && subjectRef ? yield* tables.subjects.find(tenantId, subjectRef) : undefined
  const blockedAt = subjectId && (yield* tables.subjects.blockedAt(subjectId))
  return {
    ...shown('tenant', tenant, TENANT),
    ...shown('key', found, KEY),
    ...shown('endpoint', endpoint, ENDPOINT),
    // The path and the query of a URL can hold a secret.
    ...(endpoint && {
      'endpoint.origin': new URL(endpoint.url).origin,
      'endpoint.url_sha256': keys.sha256(endpoint.url),
    }),
    ...shown('device', device, DEVICE),
    ...shown('session', session, SESSION),
    ...shown('subject_at_tenant', reference, ['blockedAt', 'inboxPausedUntil']),
    ...(subjectId && { 'subject.blocked_at': blockedAt ?? null }),
  }
}

function shown<T extends object>(
  kind: string,
  row: T | '' | undefined,
  members: readonly (keyof T & string)[],
): AuditedValues {
  if (!row) return {}
  const entries = members.map((member) => [`${kind}.${snakeCase(member)}`, row[member] ?? null])
  return Object.fromEntries(entries) as AuditedValues
}

function snakeCase(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The values that differ, as JSON; null if there are none. */
export function changedValues(of: AuditedValues, from: AuditedValues): string | null {
  const changed = Object.entries(of).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(from[name]),
  )
  return changed.length === 0 ? null : JSON.stringify(Object.fromEntries(changed))
}
