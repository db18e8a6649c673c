import type { TenantId } from '@bonded/contract'
import { parseLimits } from '@bonded/core/domain/limits'
import type { Tenant } from '@bonded/core/domain/tenant'
import { StoreError } from '@bonded/core/ports/store'
import type { Row, SqlValue } from '../statement.ts'

/** Parsed settings of tenants by their text. */
const parsed = new Map<string, unknown>()
/** A bound on memory, in case tenants change their settings often. */
const MAX_PARSED = 1_000

function parseOnce<T>(text: SqlValue | undefined, parse: (source: string) => T = JSON.parse): T {
  const source = String(text)
  let value = parsed.get(source)
  if (value === undefined) {
    if (parsed.size >= MAX_PARSED) parsed.clear()
    value = parse(source)
    parsed.set(source, value)
  }
  return value as T
}

/** Named columns for joins, so that a column added by a newer program does not shift the others. */
export const TENANT_COLUMNS = [
  'id',
  'name',
  'environment',
  'demo',
  'origins',
  'workflows',
  'limits',
  'logo',
  'notifies',
  'session_endpoint',
  'suspended_at',
  'retention',
]
  .map((column) => `tenant.${column}`)
  .join(', ')

/** The tenant of a row. */
export function tenantFromRow(found: Row): Tenant {
  return {
    id: found.id as TenantId,
    name: found.name as string,
    environment: found.environment as Tenant['environment'],
    demo: found.demo === 1,
    origins: parseOnce<string[]>(found.origins),
    workflows: parseOnce(found.workflows),
    ...(found.logo === null ? {} : { logo: found.logo as string }),
    ...(found.suspended_at === null ? {} : { suspendedAt: Number(found.suspended_at) }),
    ...(found.retention === null ? {} : { retention: parseOnce(found.retention) }),
    ...(Number(found.notifies) === 1 ? { notifies: true } : {}),
    ...(found.session_endpoint === null
      ? {}
      : { sessionEndpoint: found.session_endpoint as string }),
    ...(found.limits === null ? {} : { limits: parseOnce(found.limits, storedLimits) }),
  }
}

function storedLimits(text: string): NonNullable<Tenant['limits']> {
  const limits = parseLimits(text)
  // This program wrote the text, so an unreadable one means damage.
  if (limits === undefined) throw new StoreError(`a tenant's limits cannot be read: ${text}`)
  return limits
}
