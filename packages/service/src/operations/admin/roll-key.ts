import { Secret } from '../../domain/secret.ts'
import type { Instant } from '../../domain/session.ts'
import { isRevoked } from '../../domain/tenant.ts'
import type { KeyListing } from '../../ports/store.ts'
import { createCredential, OperatorError } from './tenants.ts'
import type { Service } from '../service.ts'

/** A key that is replaced: until `endsAt` both work. */
export interface RolledKey {
  readonly kind: KeyListing['kind']
  readonly key: string
  readonly secret: Secret
  readonly endsAt: Instant
}

/** Makes a new key for the same tenant and scope, and ends the old one when the grace period is over. */
export async function rollKey(
  service: Service,
  { key, graceMs }: { key: string; graceMs: number },
): Promise<RolledKey> {
  const now = service.clock.now()
  const endsAt = now + graceMs
  return service.store.write(function* (tables) {
    const old = yield* tables.tenants.findKey(key)
    if (old === undefined)
      throw new OperatorError(
        'there is no such key; bonded key list --tenant shows which there are',
      )
    if (isRevoked(old, now))
      throw new OperatorError('the key is revoked already: issue a new one with bonded key issue')
    // A second roll would leave two new keys, and nobody would know which of them is the one in use.
    if (old.revokedAt !== null || !(yield* tables.tenants.revoke(key, endsAt)))
      throw new OperatorError(
        'the key is being rolled already: bonded key list --tenant shows until when it works; bonded key revoke ends it now',
      )
    const { tenantId, scope, kind } = old
    if (kind === 'server') {
      const { row, secret } = createCredential(service)
      yield* tables.tenants.addServerCredential({ ...row, tenantId, scope, now })
      return { kind, key: row.keyId, secret, endsAt }
    }
    const publishable = `pk_beta_${service.random.base62(22)}`
    yield* tables.tenants.addPublishableKey({ key: publishable, tenantId, scope, now })
    return { kind, key: publishable, secret: new Secret(publishable), endsAt }
  })
}
