import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { onlyOf, readInteger, readSequence } from '../asn1/values.ts'
import type { Digest } from '../x509/algorithm.ts'
import { type Curve, numberOf } from './curves.ts'
import type { EcKey } from './public-key.ts'

/**
 * What a verification says. `unsupported`: neither this package nor the runtime has the algorithm,
 * so the signature is neither good nor bad.
 */
export type Verdict = 'signed' | 'not_signed' | 'unsupported'

/** An ECDSA signature on a curve, and what it should cover. */
export interface EcdsaSignature {
  readonly curve: Curve
  /** X9.62. */
  readonly point: Uint8Array
  readonly digest: Uint8Array
  readonly r: bigint
  readonly s: bigint
}

type EcdsaVerifier = (signature: EcdsaSignature) => boolean
let substitute: EcdsaVerifier | undefined

/** Sets the verifier for curves that the runtime lacks: see `@bonded/attestation/brainpool`. */
export function substituteEcdsa(verifier: EcdsaVerifier): void {
  substitute = verifier
}

/**
 * Verifies an ECDSA signature in either encoding. Some signers concatenate r and s under an
 * identifier that specifies DER, and some chips do the reverse.
 */
export function verifyEcdsa(
  digest: Digest,
  { message, signature, key }: { message: Buffer; signature: Buffer; key: EcKey },
): Verdict {
  const { curve, point, key: loaded } = key
  const isSigned =
    loaded !== undefined &&
    (['der', 'ieee-p1363'] as const).some((dsaEncoding) =>
      attempt(() => verify(digest, message, { key: loaded, dsaEncoding }, signature)),
    )
  if (isSigned) return 'signed'
  if (runtimeVerifies(curve, digest)) return 'not_signed'
  const verifier = substitute
  if (verifier === undefined) return 'unsupported'
  const hash = createHash(digest).update(message).digest()
  return [derNumbers(signature), plainNumbers(signature, curve)].some(
    (numbers) =>
      numbers !== undefined && attempt(() => verifier({ curve, point, digest: hash, ...numbers })),
  )
    ? 'signed'
    : 'not_signed'
}

/** OpenSSL throws for some malformed signatures. Returns false for them. */
export function attempt(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

interface Numbers {
  readonly r: bigint
  readonly s: bigint
}

function derNumbers(signature: Buffer): Numbers | undefined {
  return unlessMalformed(() => {
    const [r, ...rest] = readSequence(readTlv(signature))
    return { r: readInteger(r), s: readInteger(onlyOf(rest)) }
  })
}

function plainNumbers(signature: Buffer, { n }: Curve): Numbers | undefined {
  const hex = signature.toString('hex')
  return hex.length === 2 * n.length
    ? { r: numberOf(hex.slice(0, n.length)), s: numberOf(hex.slice(n.length)) }
    : undefined
}

const tried = new Map<string, boolean>()

/**
 * Whether the runtime verifies its own signature with this curve and digest. Deno lacks brainpool,
 * and digests of less than half of the curve's length; Bun lacks brainpool. Tried only after a
 * failure, once for each pair.
 */
function runtimeVerifies({ name: namedCurve }: Curve, digest: Digest): boolean {
  const pair = `${namedCurve} ${digest}`
  const message = Buffer.from(pair)
  const works =
    tried.get(pair) ??
    attempt(() => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
      return verify(digest, message, publicKey, sign(digest, message, privateKey))
    })
  tried.set(pair, works)
  return works
}
