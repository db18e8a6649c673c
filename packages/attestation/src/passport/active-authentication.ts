import { requireBytes } from '../arguments.ts'
import { readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { onlyOf, readOid, readSequence, readSetOf, readSmall } from '../asn1/values.ts'
import { type Digest, schemeOf } from '../x509/algorithm.ts'
import { bufferOf } from '../bytes.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { contentOf, FILE_TAG } from './elementary-file.ts'
import { isRecoverySignature } from './iso-9796-2.ts'
import { readPassportKey } from './public-key.ts'
import { verifyEcdsa } from './ecdsa.ts'
import type { ActiveAuthenticationStep } from './steps.ts'

/** SecurityInfo of the chip's key (Doc 9303-11, section 9.2). */
const ACTIVE_AUTHENTICATION = '2.23.136.1.1.5'

/** What `verifyActiveAuthentication` is given. */
export interface ActiveAuthenticationInput {
  /**
   * Only what passive authentication has verified: see `listed` of `verifyPassiveAuthentication`.
   */
  readonly dg14?: Uint8Array | undefined
  readonly dg15?: Uint8Array | undefined
  /** The eight bytes that the chip was given. */
  readonly challenge: Uint8Array
  readonly signature: Uint8Array | undefined
}

/**
 * Verifies Active Authentication (Doc 9303-11, section 6.1): the chip with the listed key signed
 * the challenge, so it is not a copy.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { verifyActiveAuthentication } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * // Take dg14 and dg15 from `listed` of `verifyPassiveAuthentication`.
 * const { dg14, dg15, challenge, signature } = sample
 * console.log(verifyActiveAuthentication({ dg14, dg15, challenge, signature }).ok) // true
 */
export function verifyActiveAuthentication(
  input: ActiveAuthenticationInput,
): Result<'original', 'chip_not_authenticated', ActiveAuthenticationStep> {
  const { dg14, dg15, challenge: given, signature: sent } = input
  requireBytes({ challenge: given }, { dg14, dg15, signature: sent })
  const fail = rejectWith('chip_not_authenticated')
  // 1. The chip has responded, and the state has listed its key.
  if (input.signature === undefined) return fail('aa_not_sent')
  if (input.dg15 === undefined) return fail('dg15_not_listed')
  const [signature, challenge] = [bufferOf(input.signature), bufferOf(input.challenge)]
  const key = readPassportKey(contentOf(bufferOf(input.dg15), FILE_TAG.dg15) ?? Buffer.alloc(0))
  if (key === undefined) return fail('dg15')

  // 2. RSA: the signature recovers the chip's part of the message, and covers the challenge.
  if (key.kind === 'rsa') {
    if (key.pssOnly) return fail('aa_algorithm')
    if (key.key === undefined) return fail('algorithm_unsupported')
    return isRecoverySignature(challenge, { signature, key: key.key })
      ? accept('original')
      : fail('aa_signature')
  }

  // 3. ECDSA over the challenge, with the digest that DG14 names. Doc 9303 concatenates r and s;
  //    Portugal's cards are reported to write DER.
  if (input.dg14 === undefined) return fail('dg14_not_listed')
  const digest = chipDigest(bufferOf(input.dg14))
  if (digest === undefined) return fail('aa_algorithm')
  const verdict = verifyEcdsa(digest, { message: challenge, signature, key })
  if (verdict === 'unsupported') return fail('algorithm_unsupported')
  return verdict === 'signed' ? accept('original') : fail('aa_signature')
}

/** Returns the digest of the only ActiveAuthenticationInfo in DG14. */
function chipDigest(dg14: Buffer): Digest | undefined {
  return unlessMalformed(() => {
    const infos = readSetOf(readTlv(contentOf(dg14, FILE_TAG.dg14) ?? Buffer.alloc(0), 'ber'))
    const info = onlyOf(
      infos.filter((one) => readOid(readSequence(one)[0]) === ACTIVE_AUTHENTICATION),
    )
    const [, version, id] = readSequence(info)
    const known = schemeOf({ id: readOid(id), parameters: undefined })
    return readSmall(version) === 1 && known?.scheme === 'ecdsa-plain' ? known.digest : undefined
  })
}
