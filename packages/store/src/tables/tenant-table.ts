import type { TenantId } from '@bonded/contract'
import { formatLimits, type SomeLimits } from '@bonded/core/domain/limits'
import type { Scope } from '@bonded/core/domain/tenant'
import type {
  KeyListing,
  PublishableKey,
  ServerCredential,
  TenantSettings,
  TenantTable,
} from '@bonded/core/ports/tables/tenant-table'
import type { Writing } from './event-publisher.ts'
import { changed, type Row, row, rows, type SqlValue } from '../statement.ts'
import { TENANT_COLUMNS, tenantFromRow } from './tenant-row.ts'

/** Tables with rows of a tenant that its id finds: its keys first, so that it cannot act. */
const TABLES_OF_TENANT = [
  'server_credential',
  'publishable_key',
  'tenant_origin',
  'tenant_logo',
  'webhook_endpoint',
  'webhook_delivery',
  'rejection',
  'session_total',
  'device_continuity',
  'inbox_caller',
  'pairwise_subject',
] as const

/** The tenants and their keys. */
// oxlint-disable-next-line max-lines-per-function -- one table, a statement or two for each method
export function tenantTable({ dialect }: Pick<Writing, 'dialect'>): TenantTable {
  return {
    *create(tenant, now) {
      yield* row(
        'insert into tenant (id, name, environment, demo, origins, workflows, created_at, limits, session_endpoint, retention) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
        [
          tenant.id,
          tenant.name,
          tenant.environment,
          tenant.demo ? 1 : 0,
          JSON.stringify(tenant.origins),
          JSON.stringify(tenant.workflows),
          now,
          limitsText(tenant.limits),
          tenant.sessionEndpoint ?? null,
          retentionText(tenant),
        ],
      )
      for (const origin of tenant.origins) yield* addOrigin(tenant.id, origin)
    },

    *find(id) {
      const found = yield* row('select * from tenant where id = $1', [id])
      return found && tenantFromRow(found)
    },

    *update(before, after) {
      const updated = yield* row(
        `update tenant
         set name = $7, origins = $8, workflows = $9, session_endpoint = $10, retention = $11
       where id = $1 and name = $2 and origins = $3 and workflows = $4
         and session_endpoint is not distinct from $5
         and retention is not distinct from $6 returning id`,
        [before.id, ...settingsColumns(before), ...settingsColumns(after)],
      )
      if (updated === undefined) return false
      for (const origin of before.origins.filter((known) => !after.origins.includes(known))) {
        yield* row('delete from tenant_origin where tenant_id = $1 and origin = $2', [
          before.id,
          origin,
        ])
      }
      for (const origin of after.origins.filter((wanted) => !before.origins.includes(wanted)))
        yield* addOrigin(before.id, origin)
      return true
    },

    *setLimits(id, limits) {
      return (
        (yield* row('update tenant set limits = $2 where id = $1 returning id', [
          id,
          limitsText(limits),
        ])) !== undefined
      )
    },

    *setLogo(id, logo) {
      const updated = yield* row('update tenant set logo = $2 where id = $1 returning id', [
        id,
        logo?.name ?? null,
      ])
      if (updated === undefined) return false
      yield* row('delete from tenant_logo where tenant_id = $1', [id])
      if (logo !== null)
        yield* row('insert into tenant_logo (tenant_id, name, bytes) values ($1, $2, $3)', [
          id,
          logo.name,
          logo.bytes,
        ])
      return true
    },

    *setNotifies(id, notifies) {
      yield* row('update tenant set notifies = $2 where id = $1 returning id', [
        id,
        notifies ? 1 : 0,
      ])
    },

    *setSuspended(id, at) {
      const updated = yield* row(
        `update tenant set suspended_at = $2
         where id = $1 and (suspended_at is null) = (cast($2 as bigint) is not null) returning id`,
        [id, at],
      )
      return updated !== undefined
    },

    *removeRows(id, limit) {
      let removed = 0
      for (const table of TABLES_OF_TENANT)
        removed += yield* changed(
          `delete from ${table} where ${dialect.rowId} in (
             select ${dialect.rowId} from ${table} where tenant_id = $1 limit $2)`,
          [id, limit],
        )
      return removed
    },

    *remove(id) {
      const text = 'delete from tenant where id = $1 and suspended_at is not null returning id'
      return (yield* row(text, [id])) !== undefined
    },

    *findLogo(name) {
      const found = yield* row('select bytes from tenant_logo where name = $1 limit 1', [name])
      return found && (found.bytes as Uint8Array)
    },

    *list() {
      return (yield* rows('select * from tenant order by created_at, id', [])).map(tenantFromRow)
    },

    *addServerCredential({ keyId, tenantId, name, hash, last4, scope, now, expiresAt = null }) {
      // `revoked_at` is the end of a credential, and equals `expires_at` where that is its expiry.
      yield* row(
        `insert into server_credential
         (key_id, tenant_id, hash, last4, scope, created_at, revoked_at, expires_at, name)
       values ($1, $2, $3, $4, $5, $6, $7, $7, $8)`,
        [keyId, tenantId, hash, last4, scopeText(scope), now, expiresAt, name ?? null],
      )
    },

    *addPublishableKey({ key, tenantId, name, scope, now }) {
      yield* row(
        `insert into publishable_key
         (publishable_key, tenant_id, scope, created_at, revoked_at, name)
       values ($1, $2, $3, $4, null, $5)`,
        [key, tenantId, scopeText(scope), now, name ?? null],
      )
    },

    *revoke(key, at) {
      const server = yield* row(
        `update server_credential set revoked_at = $2, expires_at = null where key_id = $1
         and (revoked_at is null or revoked_at > $2 or revoked_at = expires_at)
         returning key_id`,
        [key, at],
      )
      const publishable = yield* row(
        'update publishable_key set revoked_at = $2 where publishable_key = $1 and (revoked_at is null or revoked_at > $2) returning publishable_key',
        [key, at],
      )
      return server !== undefined || publishable !== undefined
    },

    *unrevoke(key, { from, expiresAt }) {
      yield* row(
        'update server_credential set revoked_at = $3, expires_at = $3 where key_id = $1 and revoked_at = $2 returning key_id',
        [key, from, expiresAt],
      )
      yield* row(
        'update publishable_key set revoked_at = null where publishable_key = $1 and revoked_at = $2 returning publishable_key',
        [key, from],
      )
    },

    *findServerCredential(keyId) {
      const found = yield* row(
        `select ${TENANT_COLUMNS}, server_credential.hash, server_credential.scope, server_credential.revoked_at from server_credential
       join tenant on tenant.id = server_credential.tenant_id where key_id = $1`,
        [keyId],
      )
      return found && serverCredentialFromRow({ ...found, key_id: keyId }, found)
    },

    *findPublishableKey(key) {
      const found = yield* row(
        `select ${TENANT_COLUMNS}, publishable_key.scope, publishable_key.revoked_at from publishable_key
       join tenant on tenant.id = publishable_key.tenant_id where publishable_key = $1`,
        [key],
      )
      return found && publishableKeyFromRow({ ...found, publishable_key: key }, found)
    },

    *listKeys(tenantId) {
      const server = yield* rows(
        'select * from server_credential where tenant_id = $1 order by created_at',
        [tenantId],
      )
      const publishable = yield* rows(
        'select * from publishable_key where tenant_id = $1 order by created_at',
        [tenantId],
      )
      return [...server.map(serverListing), ...publishable.map(publishableListing)]
    },

    *recordUse(keyId, at) {
      yield* row(
        `update server_credential set last_used_at = $2
         where key_id = $1 and (last_used_at is null or last_used_at < $2) returning key_id`,
        [keyId, at],
      )
    },

    *listExpiring(from, to) {
      const found = yield* rows(
        `select * from server_credential
         where expires_at between $1 and $2 and revoked_at = expires_at order by expires_at`,
        [from, to],
      )
      return found.map(serverListing)
    },

    *findKey(key) {
      const server = yield* row(
        `select * from server_credential where key_id = $1 ${dialect.forUpdate}`,
        [key],
      )
      if (server !== undefined) return serverListing(server)
      const publishable = yield* row(
        `select * from publishable_key where publishable_key = $1 ${dialect.forUpdate}`,
        [key],
      )
      return publishable && publishableListing(publishable)
    },

    *knowsOrigin(origin) {
      return (
        (yield* row('select 1 as known from tenant_origin where origin = $1 limit 1', [origin])) !==
        undefined
      )
    },
  }
}

function serverCredentialFromRow(key: Row, tenant: Row): ServerCredential {
  return {
    keyId: key.key_id as string,
    hash: key.hash as Uint8Array,
    tenant: tenantFromRow(tenant),
    scope: parseScope(key.scope),
    revokedAt: instantOf(key.revoked_at),
  }
}

function publishableKeyFromRow(key: Row, tenant: Row): PublishableKey {
  return {
    key: key.publishable_key as string,
    tenant: tenantFromRow(tenant),
    scope: parseScope(key.scope),
    revokedAt: instantOf(key.revoked_at),
  }
}

function addOrigin(tenantId: TenantId, origin: string) {
  return row('insert into tenant_origin (tenant_id, origin) values ($1, $2)', [tenantId, origin])
}

function settingsColumns(settings: TenantSettings): readonly (string | null)[] {
  const { name, origins, workflows, sessionEndpoint = null } = settings
  const lists = [JSON.stringify(origins), JSON.stringify(workflows)]
  return [name, ...lists, sessionEndpoint, retentionText(settings)]
}

function retentionText({ retention = {} }: Pick<TenantSettings, 'retention'>): string | null {
  const text = JSON.stringify(retention)
  return text === '{}' ? null : text
}

function limitsText(limits: SomeLimits = {}): string | null {
  return formatLimits(limits) || null
}

function scopeText(scope: Scope): string | null {
  return scope === null ? null : JSON.stringify(scope)
}

function parseScope(text: SqlValue | undefined): Scope {
  return typeof text === 'string' ? (JSON.parse(text) as Scope) : null
}

function serverListing(found: Row): KeyListing {
  const expiresAt = instantOf(found.expires_at)
  const { revokedAt, ...others } = common(found)
  return {
    kind: 'server',
    key: found.key_id as string,
    last4: found.last4 as string,
    ...others,
    revokedAt,
    expiresAt: expiresAt === revokedAt ? expiresAt : null,
    lastUsedAt: instantOf(found.last_used_at),
  }
}

function publishableListing(found: Row): KeyListing {
  const key = found.publishable_key as string
  const last4 = key.slice(-4)
  return { kind: 'publishable', key, last4, ...common(found), expiresAt: null, lastUsedAt: null }
}

function common(
  found: Row,
): Pick<KeyListing, 'tenantId' | 'name' | 'scope' | 'createdAt' | 'revokedAt'> {
  const tenantId = found.tenant_id as KeyListing['tenantId']
  return {
    tenantId,
    name: found.name as string | null,
    scope: parseScope(found.scope),
    createdAt: Number(found.created_at),
    revokedAt: instantOf(found.revoked_at),
  }
}

function instantOf(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
