import { Secret } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import { isRevoked } from '../../domain/tenant.ts'
import type { KeyListing } from '../../ports/tables/tenant-table.ts'
import { createCredential } from './credential.ts'
import { keyNotFound, OperatorError } from './operator-error.ts'
import type { Service } from '../service.ts'

/** The successor of a key. Both work until `endsAt`. */
export interface RolledKey {
  readonly kind: KeyListing['kind']
  readonly key: string
  readonly secret: Secret
  readonly endsAt: Instant
  /** When the old key was to expire; null for never. */
  readonly oldExpiresAt: Instant | null
  /** When the successor expires; null for never. */
  readonly expiresAt: Instant | null
}

/**
 * Issues a key with the same tenant, scope, name, and lifetime, and revokes the old one after the
 * grace period, at its own expiry at the latest.
 *
 * @throws {OperatorError} where the key does not exist, is revoked, or is already being rolled
 */
export async function rollKey(
  service: Service,
  { key, graceMs }: { key: string; graceMs: number },
): Promise<RolledKey> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const old = yield* tables.tenants.findKey(key)
    if (old === undefined) throw keyNotFound()
    if (isRevoked(old, now))
      throw new OperatorError('The key is already revoked. Issue a new one with bonded key issue', {
        code: 'conflict',
      })
    // A second roll would leave two successors, and the operator could not tell which is in use.
    const endsAt = Math.min(now + graceMs, old.expiresAt ?? Number.POSITIVE_INFINITY)
    const isRolled = old.revokedAt !== null && old.expiresAt === null
    if (isRolled || !(yield* tables.tenants.revoke(key, endsAt)))
      throw new OperatorError(
        'The key is already being rolled. See bonded key list <tenant> for its end, or end it now with bonded key revoke',
        { code: 'conflict' },
      )
    const { tenantId, scope, kind, expiresAt: oldExpiresAt } = old
    const name = old.name ?? undefined
    if (kind === 'server') {
      const { row, secret } = createCredential(service)
      const expiresAt = old.expiresAt && now + (old.expiresAt - old.createdAt)
      yield* tables.concerns({ successor: row.keyId })
      yield* tables.tenants.addServerCredential({ ...row, tenantId, name, scope, now, expiresAt })
      return { kind, key: row.keyId, secret, endsAt, oldExpiresAt, expiresAt }
    }
    const publishable = `pk_beta_${service.random.base62(22)}`
    yield* tables.concerns({ successor: publishable })
    yield* tables.tenants.addPublishableKey({ key: publishable, tenantId, name, scope, now })
    const secret = new Secret(publishable)
    return { kind, key: publishable, secret, endsAt, oldExpiresAt, expiresAt: null }
  })
}

/** Undoes a roll: revokes the successor, which was not shown, and restores the old key. */
export function undoRoll(
  service: Service,
  { key, replaces, endsAt, oldExpiresAt }: RolledKey & { readonly replaces: string },
): Promise<void> {
  return service.store.write(function* ({ tenants }) {
    yield* tenants.revoke(key, service.clock.now())
    yield* tenants.unrevoke(replaces, { from: endsAt, expiresAt: oldExpiresAt })
  })
}
