import { type Tlv, Malformed, TAG } from '../asn1/tlv.ts'
import { readOid, readSequence } from '../asn1/values.ts'

/** AlgorithmIdentifier: an object identifier with optional parameters. */
export interface AlgorithmIdentifier {
  readonly id: string
  readonly parameters: Tlv | undefined
}

export function readAlgorithm(tlv: Tlv | undefined): AlgorithmIdentifier {
  const [id, parameters, ...more] = readSequence(tlv)
  if (more.length > 0) throw new Malformed('algorithm')
  return { id: readOid(id), parameters }
}

export type Digest = 'sha1' | 'sha224' | 'sha256' | 'sha384' | 'sha512'

const DIGESTS = new Map<string, Digest>([
  ['1.3.14.3.2.26', 'sha1'],
  ['2.16.840.1.101.3.4.2.4', 'sha224'],
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

/** Returns the hash function of an identifier. Undefined if it is unknown or has parameters. */
export function digestOf(algorithm: AlgorithmIdentifier): Digest | undefined {
  return hasNoParameters(algorithm) ? DIGESTS.get(algorithm.id) : undefined
}

/** A signature scheme. `ecdsa-plain` (BSI TR-03111) concatenates r and s. */
export interface SignatureScheme {
  readonly scheme: 'pkcs1' | 'ecdsa' | 'ecdsa-plain'
  readonly digest: Digest
}

const RSA = '1.2.840.113549.1.1'
const ECDSA = '1.2.840.10045.4'
const PLAIN = '0.4.0.127.0.7.1.1.4.1'

/** All known signature algorithms. Each verifier decides which of them it accepts. */
const SCHEMES = new Map<string, SignatureScheme>([
  [`${RSA}.5`, { scheme: 'pkcs1', digest: 'sha1' }],
  [`${RSA}.14`, { scheme: 'pkcs1', digest: 'sha224' }],
  [`${RSA}.11`, { scheme: 'pkcs1', digest: 'sha256' }],
  [`${RSA}.12`, { scheme: 'pkcs1', digest: 'sha384' }],
  [`${RSA}.13`, { scheme: 'pkcs1', digest: 'sha512' }],
  [`${ECDSA}.1`, { scheme: 'ecdsa', digest: 'sha1' }],
  [`${ECDSA}.3.1`, { scheme: 'ecdsa', digest: 'sha224' }],
  [`${ECDSA}.3.2`, { scheme: 'ecdsa', digest: 'sha256' }],
  [`${ECDSA}.3.3`, { scheme: 'ecdsa', digest: 'sha384' }],
  [`${ECDSA}.3.4`, { scheme: 'ecdsa', digest: 'sha512' }],
  [`${PLAIN}.1`, { scheme: 'ecdsa-plain', digest: 'sha1' }],
  [`${PLAIN}.2`, { scheme: 'ecdsa-plain', digest: 'sha224' }],
  [`${PLAIN}.3`, { scheme: 'ecdsa-plain', digest: 'sha256' }],
  [`${PLAIN}.4`, { scheme: 'ecdsa-plain', digest: 'sha384' }],
  [`${PLAIN}.5`, { scheme: 'ecdsa-plain', digest: 'sha512' }],
])

/** Returns the scheme of an identifier that includes its digest. Undefined for any other one. */
export function schemeOf(algorithm: AlgorithmIdentifier): SignatureScheme | undefined {
  return hasNoParameters(algorithm) ? SCHEMES.get(algorithm.id) : undefined
}

/** Whether the parameters are absent or NULL. Genuine certificates use both. */
function hasNoParameters({ parameters }: AlgorithmIdentifier): boolean {
  return (
    parameters === undefined || (parameters.tag === TAG.null && parameters.content.length === 0)
  )
}
