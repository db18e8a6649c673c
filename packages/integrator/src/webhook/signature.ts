import { decodeBase64url } from '@bonded/contract'
import { GateError } from '../errors.ts'

const PREFIX = 'whsec_'
const VERSION = 'v1'

/** A secret of a webhook endpoint as a key. @throws {GateError} `invalid_configuration` where it is none */
export async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
  if (bytes === undefined || bytes.length === 0) {
    throw new GateError(
      'invalid_configuration',
      'A webhook secret is whsec_ and the base64 of its bytes: take the one that was shown when the endpoint was made.',
    )
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/** What Standard Webhooks signs: the id, the seconds and the body as they are sent. */
export async function macOf(
  key: CryptoKey,
  { id, timestamp, body }: { id: string; timestamp: string; body: string | Uint8Array },
): Promise<Uint8Array> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const tail = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = new Uint8Array(head.length + tail.length)
  signed.set(head)
  signed.set(tail, head.length)
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))
}

/** One entry of the `webhook-signature` header. */
export function entryOf(mac: Uint8Array): string {
  return `${VERSION},${btoa(String.fromCharCode(...mac))}`
}

/** The signatures of a header that this version understands; others belong to other versions. */
export function signaturesIn(header: string): readonly Uint8Array[] {
  return header.split(' ').flatMap((entry) => {
    const [version, text = ''] = entry.split(',', 2)
    const mac = version === VERSION ? decodeBase64(text) : undefined
    return mac === undefined ? [] : [mac]
  })
}

/** Whether two MACs are equal, in a time that does not tell where they differ. */
export function sameMac(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length
  for (const [at, byte] of one.entries()) difference |= byte ^ (other[at] ?? 0)
  return difference === 0
}

/** Padded base64 as an encoder writes it, or undefined: one value has one spelling. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[0-9A-Za-z+/]*={0,2}$/.test(text)) return undefined
  return decodeBase64url(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
}
