import { accept, type Result, reject } from '@bonded/core/domain/rejection'
import type { RevocationList } from '@bonded/core/ports/revocations'

/**
 * Checks that no certificate of a chain was revoked. Without a usable list the rejection is
 * `overloaded`, because the phone is not at fault.
 *
 * @param serials serial numbers of the chain's certificates; empty where Google's list does not
 * apply
 */
export async function checkRevocation(
  serials: readonly string[],
  revocations: RevocationList,
): Promise<Result<void>> {
  const status = serials.length === 0 ? 'good' : await revocations.check(serials)
  if (status === 'unknown') return reject('overloaded', { step: 'revocation_unknown' })
  return status === 'revoked'
    ? reject('attestation_invalid', { step: 'revoked' })
    : accept(undefined)
}
