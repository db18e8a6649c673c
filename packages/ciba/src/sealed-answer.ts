import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** The answer to a poll. */
export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  /** In seconds since the epoch. */
  readonly expiresAt: number
}

/** Who can open an answer. The database has only a hash of the request id. */
export interface Recipient {
  readonly authReqId: string
  /** The thumbprint of the client's DPoP key. */
  readonly jkt: string
}

/** Encrypts an answer for its recipient, so that the database shows no token. */
export function sealAnswer(answer: Answer, recipient: Recipient): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(ALGORITHM, keyOf(recipient), iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(answer), 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** The answer; undefined for another recipient, and where it was changed. */
export function openAnswer(text: string, recipient: Recipient): Answer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)]
  try {
    const decipher = createDecipheriv(ALGORITHM, keyOf(recipient), iv, {
      authTagLength: TAG_BYTES,
    }).setAuthTag(tag)
    const sealed = bytes.subarray(IV_BYTES + TAG_BYTES)
    const opened = Buffer.concat([decipher.update(sealed), decipher.final()])
    return JSON.parse(opened.toString('utf8')) as Answer
  } catch {
    return undefined
  }
}

function keyOf({ authReqId, jkt }: Recipient): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', authReqId, jkt, 'bonded ciba answer', 32))
}

/** The id and the key of a DPoP proof that the provider has verified. */
export function readProof(proof: string): { readonly jti: string; readonly jkt: string } {
  const parse = (part = '') =>
    JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as Record<string, unknown>
  const [header, payload] = proof.split('.')
  const { crv, e, kty, n, x, y } = parse(header)['jwk'] as Readonly<Record<string, string>>
  // RFC 7638: the required members of the key, in the order of their names.
  const members = kty === 'RSA' ? { e, kty, n } : { crv, kty, x, ...(kty === 'EC' && { y }) }
  const jkt = createHash('sha256').update(JSON.stringify(members)).digest('base64url')
  return { jti: String(parse(payload)['jti']), jkt }
}
