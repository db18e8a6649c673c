import { decodeBase64url } from '@bonded/contract'
import { GateError } from '../errors.ts'

const PREFIX = 'whsec_'
const VERSION = 'v1'

/** The key of an endpoint's secret. @throws {GateError} `invalid_configuration` if malformed */
export async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
  if (bytes === undefined || bytes.length === 0) {
    throw new GateError(
      'invalid_configuration',
      'The webhook secret is malformed. It is whsec_ and the base64 of its bytes: copy the one shown when the endpoint was created.',
    )
  }
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

/** The MAC over the id, the timestamp and the body, as Standard Webhooks defines it. */
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

/** The `v1` signatures of a header. Other versions are ignored. */
export function signaturesIn(header: string): readonly Uint8Array[] {
  return header.split(' ').flatMap((entry) => {
    const [version, text = ''] = entry.split(',', 2)
    const mac = version === VERSION ? decodeBase64(text) : undefined
    return mac === undefined ? [] : [mac]
  })
}

/** Compares two MACs in constant time. */
export function sameMac(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] ?? 0)
  return difference === 0
}

/** The bytes of canonical padded base64, or undefined. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[0-9A-Za-z+/]*={0,2}$/.test(text)) return undefined
  return decodeBase64url(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
}
