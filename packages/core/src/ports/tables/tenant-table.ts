import type { TenantId } from '@bonded/contract'
import type { SomeLimits } from '../../domain/limits.ts'
import type { Instant } from '../../domain/session.ts'
import type { Scope, Tenant } from '../../domain/tenant.ts'
import type { WebhookOwner } from './webhook-table.ts'
import type { Work } from '../work.ts'

export interface ServerCredential {
  readonly keyId: string
  readonly hash: Uint8Array
  readonly tenant: Tenant
  readonly scope: Scope
  /**
   * When the key stops working. In the past for a revoked key, in the future for one that is being
   * rolled.
   */
  readonly revokedAt: Instant | null
}

export interface PublishableKey {
  readonly key: string
  readonly tenant: Tenant
  readonly scope: Scope
  readonly revokedAt: Instant | null
}

/** The settings of a tenant that an operator can change. */
export type TenantSettings = Pick<
  Tenant,
  'name' | 'origins' | 'workflows' | 'sessionEndpoint' | 'retention'
>

export interface TenantTable {
  create(tenant: Tenant, now: Instant): Work<void>
  find(id: TenantId): Work<Tenant | undefined>
  /**
   * Replaces these settings of a tenant in one guarded statement.
   *
   * @returns false if they no longer equal `before`; nothing was written
   */
  update(before: Tenant, after: TenantSettings): Work<boolean>
  /** Replaces the limits of a tenant. @returns whether the tenant exists */
  setLimits(id: TenantId, limits: SomeLimits): Work<boolean>
  /** Replaces the logo of a tenant, or removes it. @returns whether the tenant exists */
  setLogo(id: TenantId, logo: { name: string; bytes: Uint8Array } | null): Work<boolean>
  /** Stores whether sessions of the tenant write events. No effect for the operator. */
  setNotifies(id: WebhookOwner, notifies: boolean): Work<void>
  /** Suspends a tenant, or resumes it. @returns false if it is so already, or does not exist */
  setSuspended(id: TenantId, at: Instant | null): Work<boolean>
  /**
   * Deletes rows of a tenant, at most `limit` of each table, except its sessions and receipts.
   *
   * @returns how many
   */
  removeRows(id: TenantId, limit: number): Work<number>
  /** Deletes a suspended tenant that has no other rows. @returns false if it is not suspended */
  remove(id: TenantId): Work<boolean>
  /** Finds the bytes of a logo by its name. */
  findLogo(name: string): Work<Uint8Array | undefined>
  list(): Work<readonly Tenant[]>
  addServerCredential(row: {
    keyId: string
    tenantId: TenantId
    name?: string | undefined
    hash: Uint8Array
    last4: string
    scope: Scope
    now: Instant
    /** When it expires; without it, never. */
    expiresAt?: Instant | null
  }): Work<void>
  addPublishableKey(row: {
    key: string
    tenantId: TenantId
    name?: string | undefined
    scope: Scope
    now: Instant
  }): Work<void>
  /**
   * Revokes a key at an instant. @returns false if the key does not exist or ends no later already
   */
  revoke(key: string, at: Instant): Work<boolean>
  /** Undoes the revocation at an instant, unless another one ends the key earlier. */
  unrevoke(
    key: string,
    of: { readonly from: Instant; readonly expiresAt: Instant | null },
  ): Work<void>
  findServerCredential(keyId: string): Work<ServerCredential | undefined>
  findPublishableKey(key: string): Work<PublishableKey | undefined>
  listKeys(tenantId: TenantId): Work<readonly KeyListing[]>
  /** Stores when a server credential was last used, unless a later use is stored. */
  recordUse(keyId: string, at: Instant): Work<void>
  /** The server credentials of all tenants that expire in this time, the next one first. */
  listExpiring(from: Instant, to: Instant): Work<readonly KeyListing[]>
  /** Finds a key of any tenant by the key id of a server credential or by the publishable key. */
  findKey(key: string): Work<KeyListing | undefined>
  /** Whether any tenant has this origin. */
  knowsOrigin(origin: string): Work<boolean>
}

export interface KeyListing {
  readonly tenantId: TenantId
  readonly kind: 'server' | 'publishable'
  /** The key id of a server credential, or the publishable key itself. */
  readonly key: string
  /** The operator's name for the key. */
  readonly name: string | null
  readonly last4: string
  readonly scope: Scope
  readonly createdAt: Instant
  /** When the key stops working. */
  readonly revokedAt: Instant | null
  /** `revokedAt` of a server credential whose end is its expiry; null for a revocation. */
  readonly expiresAt: Instant | null
  /** The last use of a server credential, with a delay of a minute. */
  readonly lastUsedAt: Instant | null
}
