import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { RevocationList } from '../../../ports/revocations.ts'

/**
 * Whether nobody in a chain was revoked. A list that is too old to judge by is `overloaded`, for the phone has done
 * nothing wrong.
 *
 * @param serials of the chain's certificates; none where Google lists nobody below its root
 */
export async function judgeStanding(
  serials: readonly string[],
  revocations: RevocationList,
): Promise<Result<void>> {
  const standing = serials.length === 0 ? 'good' : await revocations.judge(serials)
  if (standing === 'unknown') return refuse('overloaded', { step: 'revocation_unknown' })
  return standing === 'revoked'
    ? refuse('attestation_invalid', { step: 'revoked' })
    : accept(undefined)
}
