import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Device } from '../../../domain/session.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { RevocationList } from '../../../ports/revocations.ts'
import { readPublicKey } from '../x509/public-key.ts'
import { verifyChain } from './chain.ts'
import { readKeyDescription } from './key-description.ts'
import { type AndroidPolicy, judgeKeyDescription } from './policy.ts'
import { judgeStanding } from './standing.ts'

/** A key that Android's secure hardware, or at least its keystore, vouches for. */
export interface AttestedKey {
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly environment: Device['environment']
  readonly appId: string
}

/** What verifying takes beside the chain. */
export interface AndroidTrust {
  readonly policy: AndroidPolicy
  readonly revocations: RevocationList
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Verifies a chain and the key it is for. Every refusal is `attestation_invalid` with the failing `step`, but for a
 * revocation list that is too old to judge by: that one is `overloaded`, for the phone has done nothing wrong.
 *
 * @param challenge what the phone was to put into the attestation
 */
export async function verifyAttestedKey(
  chain: readonly Uint8Array[],
  challenge: Uint8Array,
  { policy, revocations, clock }: AndroidTrust,
): Promise<Result<AttestedKey>> {
  const no = (step: string) => refuse('attestation_invalid', { step })
  // 1. The chain: who speaks.
  const verified = verifyChain(chain, {
    roots: new Set([...policy.roots, ...policy.testRoots]),
    now: clock.now(),
  })
  if (!verified.ok) return verified
  const { certificates, leaf, keyDescription, root } = verified.value
  // 2. What is said, in strict DER.
  const description = readKeyDescription(keyDescription)
  if (description === undefined) return no('key_description')
  // 3. Whether that will do.
  const judged = judgeKeyDescription(description, { challenge, root, policy })
  if (!judged.ok) return judged
  // 4. The key itself is what the description says it is. Written anew: two spellings of one key must not be two keys.
  const key = readPublicKey(leaf.publicKey)
  if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return no('key_algorithm')
  // 5. Last, for it may have to ask Google: nobody in the chain was revoked. Google lists nobody below a test root.
  const serials = policy.testRoots.has(root) ? [] : certificates.map(({ serial }) => serial)
  const standing = await judgeStanding(serials, revocations)
  if (!standing.ok) return standing
  return accept({ publicKey: key.export({ format: 'der', type: 'spki' }), ...judged.value })
}
