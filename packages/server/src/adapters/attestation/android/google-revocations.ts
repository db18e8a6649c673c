import {
  type FetchText,
  googleRevocations as revocationsOf,
  type RevocationSource,
} from '@bonded/attestation/revocations'
import type { Clock } from '@bonded/core/ports/clock'
import type { RevocationList } from '@bonded/core/ports/revocations'

export { type FetchText, REVOCATION_GRACE_MS } from '@bonded/attestation/revocations'

/** Google's list, fetched on demand by the clock of the service. */
export function googleRevocations({
  clock,
  ...source
}: Omit<RevocationSource, 'now' | 'fetch' | 'snapshot'> & {
  readonly fetch: FetchText
  readonly clock: Clock
  /** Serials that were revoked at release time. They are rejected whatever Google returns. */
  readonly snapshot: ReadonlySet<string>
}): RevocationList {
  return revocationsOf({ ...source, now: () => clock.now() })
}
