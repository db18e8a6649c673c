import type { KeyListing } from '../../ports/tables/tenant-table.ts'
import type { Batch } from '../maintenance/batch.ts'
import type { Service } from '../service.ts'

/** How long before an expiry the service warns. */
export const EXPIRY_WARNING_MS = 14 * 24 * 60 * 60_000
/** How long after it the warning stays, so that an expiry over a weekend does not end it. */
const EXPIRED_WARNING_MS = 7 * 24 * 60 * 60_000

/** Stores the last uses of server credentials, and finds those that expire soon or just have. */
export async function watchCredentials(
  service: Service,
): Promise<Batch & { readonly expiring: readonly KeyListing[] }> {
  const { clock, credentialUse, meter, store } = service
  const uses = credentialUse.take()
  if (uses.size > 0) {
    try {
      await store.write(function* (tables) {
        for (const [keyId, at] of uses) yield* tables.tenants.recordUse(keyId, at)
      })
    } catch (failure) {
      // The next round stores them, unless the credential is used again.
      for (const [keyId, at] of uses) credentialUse.restore(keyId, at)
      throw failure
    }
  }
  const now = clock.now()
  const expiring = await store.read((tables) =>
    tables.tenants.listExpiring(now - EXPIRED_WARNING_MS, now + EXPIRY_WARNING_MS),
  )
  meter.measuredCredentials(expiring.length)
  return { done: 0, more: false, expiring }
}
