import { requireBytes, requireChain, requireInstant } from '../arguments.ts'
import type { Environment, Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { readPublicKey } from '../x509/public-key.ts'
import { type AndroidChainStep, verifyAndroidChain } from './certificate-chain.ts'
import { type AndroidKeyAlgorithm, isKeyOfKind } from './key-algorithms.ts'
import { type KeyDescription, readKeyDescription } from './key-description.ts'
import {
  type AndroidPolicy,
  checkKeyDescription,
  type KeyDescriptionStep,
  readPolicy,
} from './policy.ts'

/** What `verifyAndroidKeyAttestation` is given. */
export interface AndroidKeyAttestationInput {
  /** DER, leaf first, as `KeyStore.getCertificateChain` returns it. */
  readonly chain: readonly Uint8Array[]
  /** What the app passed to `setAttestationChallenge`. */
  readonly challenge: Uint8Array
  readonly now: Instant
}

/** A key that Android's secure hardware, or at least its keystore, attests. */
export interface AttestedAndroidKey {
  /** SPKI, DER. */
  readonly publicKey: Buffer
  /** `production` only for secure hardware of a verified, locked phone under a trusted root. */
  readonly environment: Environment
  /** `package:certificate digest`. */
  readonly appId: string
  /** Those of the policy's algorithms that the hardware permits for this key; at least one. */
  readonly keyAlgorithms: readonly AndroidKeyAlgorithm[]
  readonly description: KeyDescription
  /**
   * Serial numbers of the certificates, lower-case hex. The key is good only if Google's list names
   * none of them: see `readStatusList` and `isRevoked`. Empty under a test root, which Google does
   * not list.
   */
  readonly serials: readonly string[]
}

/** The check that failed. */
export type AndroidKeyAttestationStep =
  | AndroidChainStep
  | KeyDescriptionStep
  | 'key_description'
  | 'key_algorithm'

/**
 * Verifies an Android key attestation: the chain, the description of the key, and the policy.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 * @throws {RangeError} for a policy with a malformed digest, patch level or number of seconds
 *
 * @example
 * import { GOOGLE_ROOTS, verifyAndroidKeyAttestation } from '@bonded/attestation/android'
 * import { androidKeySample as sample } from '@bonded/attestation/samples'
 *
 * const policy = {
 *   roots: GOOGLE_ROOTS,
 *   testRoots: new Set([sample.testRoot]),
 *   apps: [{ package: sample.package, certificateDigests: [sample.certificateDigest] }],
 *   minPatchLevel: 202601,
 *   ownerBootKeys: new Set(),
 *   userAuthenticationWithinSeconds: null,
 * }
 * const { chain, challenge, now } = sample
 * const attested = verifyAndroidKeyAttestation({ chain, challenge, now }, policy)
 * console.log(attested.ok && attested.value.keyAlgorithms.join()) // ES256
 */
export function verifyAndroidKeyAttestation(
  { chain, challenge, now }: AndroidKeyAttestationInput,
  trust: AndroidPolicy,
): Result<AttestedAndroidKey, 'attestation_invalid', AndroidKeyAttestationStep> {
  requireChain('chain', chain)
  requireBytes({ challenge })
  requireInstant(now)
  const policy = readPolicy(trust)
  const fail = rejectWith('attestation_invalid')
  // 1. The chain leads to a trusted root.
  const roots = new Set([...policy.roots, ...policy.testRoots])
  const verified = verifyAndroidChain(chain, { roots, now })
  if (!verified.ok) return verified
  const { certificates, leaf, keyDescription, root } = verified.value
  // 2. The description of the key, in DER.
  const description = readKeyDescription(keyDescription)
  if (description === undefined) return fail('key_description')
  // 3. The description meets the policy.
  const checked = checkKeyDescription(description, { challenge, root, policy })
  if (!checked.ok) return checked
  // 4. The key is of the described kind. It is exported anew: two encodings of one key must not be
  //    two keys.
  const key = readPublicKey(leaf.publicKey)
  if (key === undefined) return fail('key_algorithm')
  const { environment, appId } = checked.value
  const keyAlgorithms = checked.value.keyAlgorithms.filter((name) => isKeyOfKind(key, name))
  if (keyAlgorithms.length === 0) return fail('key_algorithm')
  const publicKey = key.export({ format: 'der', type: 'spki' })
  // 5. Revocation is the caller's step, because the list must be fetched.
  const serials = policy.testRoots.has(root) ? [] : certificates.map(({ serial }) => serial)
  return accept({ publicKey, environment, appId, keyAlgorithms, description, serials })
}
