import { constants, type KeyObject, verify } from 'node:crypto'
import { type Element, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { idOf, inside, numberOf, sequence } from './ber.ts'
import { type Digest, digestOf, saysNothing } from './digest.ts'
import { boundToPss, readPublicKey } from './public-key.ts'

/** How something is signed. */
export type SignatureAlgorithm =
  | { readonly scheme: 'pkcs1' | 'ecdsa' | 'ecdsa-plain'; readonly digest: Digest }
  | { readonly scheme: 'pss'; readonly digest: Digest; readonly saltBytes: number; readonly parameters: Buffer }

const hex = (dotted: string) => oid(dotted).toString('hex')
const RSA = '1.2.840.113549.1.1'
const PSS = hex(`${RSA}.10`)
/** BSI TR-03111: r and s side by side. */
const PLAIN = '0.4.0.127.0.7.1.1.4.1'

/** Identifiers that name the digest too. */
const COMPLETE = new Map<string, SignatureAlgorithm>([
  [hex(`${RSA}.5`), { scheme: 'pkcs1', digest: 'sha1' }],
  [hex(`${RSA}.14`), { scheme: 'pkcs1', digest: 'sha224' }],
  [hex(`${RSA}.11`), { scheme: 'pkcs1', digest: 'sha256' }],
  [hex(`${RSA}.12`), { scheme: 'pkcs1', digest: 'sha384' }],
  [hex(`${RSA}.13`), { scheme: 'pkcs1', digest: 'sha512' }],
  [hex('1.2.840.10045.4.1'), { scheme: 'ecdsa', digest: 'sha1' }],
  [hex('1.2.840.10045.4.3.1'), { scheme: 'ecdsa', digest: 'sha224' }],
  [hex('1.2.840.10045.4.3.2'), { scheme: 'ecdsa', digest: 'sha256' }],
  [hex('1.2.840.10045.4.3.3'), { scheme: 'ecdsa', digest: 'sha384' }],
  [hex('1.2.840.10045.4.3.4'), { scheme: 'ecdsa', digest: 'sha512' }],
  [hex(`${PLAIN}.1`), { scheme: 'ecdsa-plain', digest: 'sha1' }],
  [hex(`${PLAIN}.2`), { scheme: 'ecdsa-plain', digest: 'sha224' }],
  [hex(`${PLAIN}.3`), { scheme: 'ecdsa-plain', digest: 'sha256' }],
  [hex(`${PLAIN}.4`), { scheme: 'ecdsa-plain', digest: 'sha384' }],
  [hex(`${PLAIN}.5`), { scheme: 'ecdsa-plain', digest: 'sha512' }],
])

/** Identifiers that name only the kind of key: Australia, New Zealand and the United States write them; the digest stands beside. */
const WITHOUT_DIGEST = new Map<string, 'pkcs1' | 'ecdsa'>([
  [hex(`${RSA}.1`), 'pkcs1'],
  [hex('1.2.840.10045.2.1'), 'ecdsa'],
  [hex('1.2.840.10045.4.3'), 'ecdsa'],
])

/** @param beside the digest that the signer names elsewhere, where it does */
export function signatureAlgorithm(identifier: Element | undefined, beside?: Digest): SignatureAlgorithm | undefined {
  const [id, ...parameters] = sequence(identifier)
  const name = idOf(id)
  const scheme = WITHOUT_DIGEST.get(name)
  if (scheme !== undefined) return beside === undefined ? undefined : { scheme, digest: beside }
  if (name === PSS) return pss(parameters[0])
  return saysNothing(parameters) ? COMPLETE.get(name) : undefined
}

/** The algorithm of a bare identifier, as DG14 names one. */
export function algorithmNamed(id: Element | undefined): SignatureAlgorithm | undefined {
  return COMPLETE.get(idOf(id))
}

/** RSASSA-PSS-params (RFC 4055): what is left out is SHA-1 and 20 bytes of salt. The mask and the trailer are OpenSSL's to read. */
function pss(parameters: Element | undefined): SignatureAlgorithm | undefined {
  const parts = sequence(parameters)
  const part = (number: number) => parts.find(({ tag }) => tag === TAG.context(number))
  const digest = part(0) === undefined ? 'sha1' : digestOf(inside(part(0), TAG.context(0))[0])
  const saltBytes = part(2) === undefined ? 20 : numberOf(inside(part(2), TAG.context(2))[0])
  if (parameters === undefined || digest === undefined || saltBytes === undefined) return undefined
  return { scheme: 'pss', digest, saltBytes, parameters: parameters.whole }
}

/** Whether the key made the signature over the message. */
export function isSigned(algorithm: SignatureAlgorithm, of: { message: Buffer; signature: Buffer; spki: Buffer }): boolean {
  const { message, signature, spki } = of
  const key = algorithm.scheme === 'pss' ? boundToPss(spki, algorithm.parameters) : readPublicKey(spki)
  if (key === undefined) return false
  switch (algorithm.scheme) {
    case 'pkcs1':
      return (
        key.asymmetricKeyType === 'rsa' && attempt(() => verify(algorithm.digest, message, { key, padding: constants.RSA_PKCS1_PADDING }, signature))
      )
    case 'pss': {
      const padding = constants.RSA_PKCS1_PSS_PADDING
      return attempt(() => verify(algorithm.digest, message, { key, padding, saltLength: algorithm.saltBytes }, signature))
    }
    case 'ecdsa':
    case 'ecdsa-plain':
      return key.asymmetricKeyType === 'ec' && isEcdsaSigned(algorithm.digest, { message, signature, key })
  }
}

/** Some signers write r and s side by side under an identifier that promises DER; a signature that reads as both is none. */
function isEcdsaSigned(digest: Digest, { message, signature, key }: { message: Buffer; signature: Buffer; key: KeyObject }): boolean {
  return (['der', 'ieee-p1363'] as const).some((dsaEncoding) => attempt(() => verify(digest, message, { key, dsaEncoding }, signature)))
}

/** OpenSSL throws for some signatures that are none. */
function attempt(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}
