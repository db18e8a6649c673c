import { readElement, unlessMalformed } from '../der/element.ts'
import { onlyOf, readOid, readSequence, readSetOf, readSmall } from '../der/values.ts'
import { type Digest, schemeOf } from '../x509/algorithm.ts'
import { contentOf, FILE_TAG } from './elementary-file.ts'
import { recoversWith } from './iso-9796-2.ts'
import { passportKey } from './public-key.ts'
import { isEcdsaSigned } from './signature.ts'
import { type ActiveStep, type Checked, found, no } from './step.ts'

/** SecurityInfo of the chip's own key (Doc 9303-11, section 9.2). */
const ACTIVE_AUTHENTICATION = '2.23.136.1.1.5'

export interface ActiveProof {
  /** What passive authentication has shown to be the state's. */
  readonly dg14?: Buffer
  readonly dg15?: Buffer
  /** The eight bytes that the chip was given. */
  readonly challenge: Buffer
  readonly signature: Buffer | undefined
}

/** Active Authentication (Doc 9303-11, section 6.1): the chip that holds the key has just signed this challenge. */
export function authenticateChip({
  dg14,
  dg15,
  challenge,
  signature,
}: ActiveProof): Checked<'original', ActiveStep> {
  // 1. The chip was asked, and its key is one that the state has listed.
  if (signature === undefined) return no('aa_not_sent')
  if (dg15 === undefined) return no('dg15_not_listed')
  const key = passportKey(contentOf(dg15, FILE_TAG.dg15) ?? Buffer.alloc(0))
  if (key === undefined) return no('dg15')

  // 2. RSA: the signature gives back the chip's part of the message, and covers the challenge.
  if (key.asymmetricKeyType === 'rsa')
    return recoversWith(challenge, { signature, key }) ? found('original') : no('aa_signature')

  // 3. ECDSA, over the challenge, with the digest that DG14 names. The text has r and s side by side; Portugal's cards are said to write DER.
  if (dg14 === undefined) return no('dg14_not_listed')
  const digest = chipDigest(dg14)
  if (digest === undefined || key.asymmetricKeyType !== 'ec') return no('aa_algorithm')
  return isEcdsaSigned(digest, { message: challenge, signature, key })
    ? found('original')
    : no('aa_signature')
}

/** The digest of the chip's signatures: of the only ActiveAuthenticationInfo in DG14, whose algorithm stands there without parameters. */
function chipDigest(dg14: Buffer): Digest | undefined {
  return unlessMalformed(() => {
    const infos = readSetOf(readElement(contentOf(dg14, FILE_TAG.dg14) ?? Buffer.alloc(0), 'ber'))
    const info = onlyOf(
      infos.filter((one) => readOid(readSequence(one)[0]) === ACTIVE_AUTHENTICATION),
    )
    const [, version, id] = readSequence(info)
    const known = schemeOf({ id: readOid(id), parameters: undefined })
    return readSmall(version) === 1 && known?.scheme === 'ecdsa-plain' ? known.digest : undefined
  })
}
