import type { TenantId, Workflow } from '@bonded/contract'
import type { Scope, Tenant } from '../../domain/tenant.ts'
import type { KeyListing, TenantTable } from '../../ports/store.ts'
import { type Row, row, rows, type SqlValue } from './statement.ts'

/** The tenants and their keys. */
export const tenantTable: TenantTable = {
  *create(tenant, now) {
    yield* row('insert into tenant (id, name, environment, demo, origins, workflows, created_at) values ($1, $2, $3, $4, $5, $6, $7)', [
      tenant.id,
      tenant.name,
      tenant.environment,
      tenant.demo ? 1 : 0,
      JSON.stringify(tenant.origins),
      JSON.stringify(tenant.workflows),
      now,
    ])
    for (const origin of tenant.origins) {
      yield* row('insert into tenant_origin (tenant_id, origin) values ($1, $2)', [tenant.id, origin])
    }
  },

  *find(id) {
    const found = yield* row('select * from tenant where id = $1', [id])
    return found && tenantFromRow(found)
  },

  *list() {
    return (yield* rows('select * from tenant order by created_at, id', [])).map(tenantFromRow)
  },

  *addServerCredential({ keyId, tenantId, hash, last4, scope, now }) {
    yield* row(
      'insert into server_credential (key_id, tenant_id, hash, last4, scope, created_at, revoked_at) values ($1, $2, $3, $4, $5, $6, null)',
      [keyId, tenantId, hash, last4, scopeText(scope), now],
    )
  },

  *addPublishableKey({ key, tenantId, scope, now }) {
    yield* row('insert into publishable_key (publishable_key, tenant_id, scope, created_at, revoked_at) values ($1, $2, $3, $4, null)', [
      key,
      tenantId,
      scopeText(scope),
      now,
    ])
  },

  *revoke(key, now) {
    const server = yield* row('update server_credential set revoked_at = $2 where key_id = $1 and revoked_at is null returning key_id', [key, now])
    const publishable = yield* row(
      'update publishable_key set revoked_at = $2 where publishable_key = $1 and revoked_at is null returning publishable_key',
      [key, now],
    )
    return server !== undefined || publishable !== undefined
  },

  *findServerCredential(keyId) {
    const found = yield* row('select * from server_credential where key_id = $1 and revoked_at is null', [keyId])
    const tenant = found && (yield* tenantTable.find(found.tenant_id as TenantId))
    return tenant && { keyId, hash: found.hash as Uint8Array, tenant, scope: parseScope(found.scope) }
  },

  *findPublishableKey(key) {
    const found = yield* row('select * from publishable_key where publishable_key = $1 and revoked_at is null', [key])
    const tenant = found && (yield* tenantTable.find(found.tenant_id as TenantId))
    return tenant && { key, tenant, scope: parseScope(found.scope) }
  },

  *listKeys(tenantId) {
    const server = yield* rows('select * from server_credential where tenant_id = $1 order by created_at', [tenantId])
    const publishable = yield* rows('select * from publishable_key where tenant_id = $1 order by created_at', [tenantId])
    return [...server.map(serverListing), ...publishable.map(publishableListing)]
  },

  *knowsOrigin(origin) {
    return (yield* row('select 1 as known from tenant_origin where origin = $1 limit 1', [origin])) !== undefined
  },
}

/** A tenant's settings are the same text at every call: parsed once. */
const parsed = new Map<string, unknown>()
/** A bound, should tenants change their settings for ever. */
const MAX_PARSED = 1_000

function parseOnce<T>(text: SqlValue | undefined): T {
  const source = String(text)
  let value = parsed.get(source)
  if (value === undefined) {
    if (parsed.size >= MAX_PARSED) parsed.clear()
    value = JSON.parse(source)
    parsed.set(source, value)
  }
  return value as T
}

function tenantFromRow(found: Row): Tenant {
  return {
    id: found.id as TenantId,
    name: found.name as string,
    environment: found.environment as Tenant['environment'],
    demo: found.demo === 1,
    origins: parseOnce<string[]>(found.origins),
    workflows: parseOnce<Workflow[]>(found.workflows),
  }
}

function scopeText(scope: Scope): string | null {
  return scope === null ? null : JSON.stringify(scope)
}

function parseScope(text: SqlValue | undefined): Scope {
  return typeof text === 'string' ? (JSON.parse(text) as Scope) : null
}

function serverListing(found: Row): KeyListing {
  return { kind: 'server', key: found.key_id as string, last4: found.last4 as string, ...dates(found) }
}

function publishableListing(found: Row): KeyListing {
  const key = found.publishable_key as string
  return { kind: 'publishable', key, last4: key.slice(-4), ...dates(found) }
}

function dates(found: Row): { createdAt: number; revokedAt: number | null } {
  return { createdAt: Number(found.created_at), revokedAt: found.revoked_at === null ? null : Number(found.revoked_at) }
}
