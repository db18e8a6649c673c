import { constants, type KeyObject, verify } from 'node:crypto'
import { TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readExplicit, readSequence, readSmall } from '../asn1/values.ts'
import {
  type AlgorithmIdentifier,
  type Digest,
  digestOf,
  readAlgorithm,
  type SignatureScheme,
  schemeOf,
} from '../x509/algorithm.ts'
import { bindToPss, passportKey } from './public-key.ts'

/** How a state signs: as others do, or with RSASSA-PSS, which names its digests in parameters. */
export type PassportScheme = SignatureScheme | PssScheme

interface PssScheme {
  readonly scheme: 'pss'
  readonly digest: Digest
  readonly saltBytes: number
  readonly parameters: NonNullable<AlgorithmIdentifier['parameters']>
}

const PSS = '1.2.840.113549.1.1.10'

/** Identifiers that name only the kind of key: Australia, New Zealand and the United States write them; the digest stands beside. */
const WITHOUT_DIGEST = new Map<string, 'pkcs1' | 'ecdsa'>([
  ['1.2.840.113549.1.1.1', 'pkcs1'],
  ['1.2.840.10045.2.1', 'ecdsa'],
  ['1.2.840.10045.4.3', 'ecdsa'],
])

/** @param beside the digest that the signer names elsewhere, where it does */
export function passportScheme(
  algorithm: AlgorithmIdentifier,
  beside?: Digest,
): PassportScheme | undefined {
  const scheme = WITHOUT_DIGEST.get(algorithm.id)
  if (scheme !== undefined) return beside === undefined ? undefined : { scheme, digest: beside }
  return algorithm.id === PSS ? unlessMalformed(() => pss(algorithm)) : schemeOf(algorithm)
}

/** RSASSA-PSS-params (RFC 4055): what is left out is SHA-1 and 20 bytes of salt. The mask and the trailer are OpenSSL's to read. */
function pss({ parameters }: AlgorithmIdentifier): PssScheme | undefined {
  const parts = readSequence(parameters)
  const part = (number: number) => parts.find(({ tag }) => tag === TAG.context(number))
  const digest = part(0) === undefined ? 'sha1' : digestOf(readAlgorithm(readExplicit(part(0), 0)))
  const saltBytes = part(2) === undefined ? 20 : readSmall(readExplicit(part(2), 2))
  return parameters === undefined || digest === undefined
    ? undefined
    : { scheme: 'pss', digest, saltBytes, parameters }
}

/** Whether the key made the signature over the message. */
export function isSigned(
  algorithm: PassportScheme,
  of: { message: Buffer; signature: Buffer; spki: Buffer },
): boolean {
  const { message, signature, spki } = of
  const key = algorithm.scheme === 'pss' ? bindToPss(spki, algorithm.parameters) : passportKey(spki)
  if (key === undefined) return false
  switch (algorithm.scheme) {
    case 'pkcs1':
      return (
        key.asymmetricKeyType === 'rsa' &&
        attempt(() =>
          verify(
            algorithm.digest,
            message,
            { key, padding: constants.RSA_PKCS1_PADDING },
            signature,
          ),
        )
      )
    case 'pss': {
      const padding = constants.RSA_PKCS1_PSS_PADDING
      return attempt(() =>
        verify(
          algorithm.digest,
          message,
          { key, padding, saltLength: algorithm.saltBytes },
          signature,
        ),
      )
    }
    case 'ecdsa':
    case 'ecdsa-plain':
      return (
        key.asymmetricKeyType === 'ec' &&
        isEcdsaSigned(algorithm.digest, { message, signature, key })
      )
  }
}

/** Some signers write r and s side by side under an identifier that promises DER, and chips DER where r and s were to stand side by side. */
export function isEcdsaSigned(
  digest: Digest,
  { message, signature, key }: { message: Buffer; signature: Buffer; key: KeyObject },
): boolean {
  return (['der', 'ieee-p1363'] as const).some((dsaEncoding) =>
    attempt(() => verify(digest, message, { key, dsaEncoding }, signature)),
  )
}

/** OpenSSL throws for some signatures that are none. */
function attempt(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}
