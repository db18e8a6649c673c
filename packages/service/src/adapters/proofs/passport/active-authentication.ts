import { verify } from 'node:crypto'
import { TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { idOf, inside, numberOf, readBer, sequence } from './ber.ts'
import { contentOf, FILE_TAG } from './elementary-file.ts'
import { recoversWith } from './iso-9796-2.ts'
import { readPublicKey } from './public-key.ts'
import { algorithmNamed, type SignatureAlgorithm } from './signature.ts'
import { type ActiveStep, type Checked, found, no } from './step.ts'

/** SecurityInfo of the chip's own key (Doc 9303-11, section 9.2). */
const ACTIVE_AUTHENTICATION = oid('2.23.136.1.1.5').toString('hex')

export interface ActiveProof {
  /** What passive authentication has shown to be the state's. */
  readonly dg14?: Buffer
  readonly dg15?: Buffer
  /** The eight bytes that the chip was given. */
  readonly challenge: Buffer
  readonly signature: Buffer | undefined
}

/** Active Authentication (Doc 9303-11, section 6.1): the chip that holds the key has just signed this challenge. */
export function authenticateChip({ dg14, dg15, challenge, signature }: ActiveProof): Checked<'original', ActiveStep> {
  // 1. The chip was asked, and its key is one that the state has listed.
  if (signature === undefined) return no('aa_not_sent')
  if (dg15 === undefined) return no('dg15_not_listed')
  const key = readPublicKey(contentOf(dg15, FILE_TAG.dg15) ?? Buffer.alloc(0))
  if (key === undefined) return no('dg15')

  // 2. RSA: the signature gives back the chip's part of the message, and covers the challenge.
  if (key.asymmetricKeyType === 'rsa') return recoversWith(challenge, { signature, key }) ? found('original') : no('aa_signature')

  // 3. ECDSA: r and s side by side, over the challenge, with the digest that DG14 names.
  if (dg14 === undefined) return no('dg14_not_listed')
  const algorithm = chipAlgorithm(dg14)
  if (algorithm === undefined || key.asymmetricKeyType !== 'ec') return no('aa_algorithm')
  return isSignedPlain(algorithm, { challenge, signature, key }) ? found('original') : no('aa_signature')
}

/** The signature algorithm of the chip's key: of the only ActiveAuthenticationInfo in DG14. */
function chipAlgorithm(dg14: Buffer): SignatureAlgorithm | undefined {
  const infos = inside(readBer(contentOf(dg14, FILE_TAG.dg14) ?? Buffer.alloc(0)), TAG.set).map(sequence)
  const [info, ...more] = infos.filter(([protocol]) => idOf(protocol) === ACTIVE_AUTHENTICATION)
  if (info === undefined || more.length > 0 || numberOf(info[1]) !== 1) return undefined
  const algorithm = algorithmNamed(info[2])
  return algorithm?.scheme === 'ecdsa-plain' ? algorithm : undefined
}

function isSignedPlain(
  { digest }: SignatureAlgorithm,
  { challenge, signature, key }: { challenge: Buffer; signature: Buffer; key: Parameters<typeof recoversWith>[1]['key'] },
): boolean {
  try {
    return verify(digest, challenge, { key, dsaEncoding: 'ieee-p1363' }, signature)
  } catch {
    return false
  }
}
