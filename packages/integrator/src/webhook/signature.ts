import { decodeBase64url, type Secret } from '@bonded/contract'
import { GateError } from '../errors.ts'

const PREFIX = 'whsec_'
const PUBLIC_PREFIX = 'whpk_'
const PUBLIC_KEY_BYTES = 32
const VERSION = 'v1'
const PUBLIC_VERSION = 'v1a'

/** What a signature covers. */
interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly body: string | Uint8Array
}

/** Whether one of the signatures of a header is valid. */
export type Check = (signed: Signed, header: string) => Promise<boolean>

/** @throws {GateError} `invalid_configuration` for a text, which a log line would print */
export function revealed(secret: Secret): string {
  if (typeof (secret as Secret | undefined)?.reveal === 'function') return secret.reveal()
  throw new GateError(
    'invalid_configuration',
    'Pass the secret of the endpoint as new Secret(text): a text would be printed by a log line.',
  )
}

/**
 * The check of an endpoint's secret (`v1`) or public key (`v1a`). The key decides which signatures
 * count: a sender cannot choose another algorithm.
 *
 * @throws {GateError} `invalid_configuration` if malformed
 */
export async function checkOf(secret: string): Promise<Check> {
  return secret.startsWith(PUBLIC_PREFIX)
    ? publicKeyCheck(secret.slice(PUBLIC_PREFIX.length))
    : macCheck(await keyOf(secret))
}

function macCheck(key: CryptoKey): Check {
  return async (signed, header) => {
    const mac = await macOf(key, signed)
    return signaturesIn(header, VERSION).some((given) => sameMac(mac, given))
  }
}

async function publicKeyCheck(text: string): Promise<Check> {
  const bytes = decodeBase64(text)
  if (bytes?.length !== PUBLIC_KEY_BYTES) throw malformed()
  const key = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify'])
  return async (signed, header) => {
    const verdicts = signaturesIn(header, PUBLIC_VERSION).map((given) =>
      crypto.subtle.verify('Ed25519', key, given, contentOf(signed)),
    )
    return (await Promise.all(verdicts)).includes(true)
  }
}

/** The key of an endpoint's secret. @throws {GateError} `invalid_configuration` if malformed */
export async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = decodeBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
  if (bytes === undefined || bytes.length === 0) throw malformed()
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

function malformed(): GateError {
  return new GateError(
    'invalid_configuration',
    'The webhook secret is malformed. It is whsec_ (v1) or whpk_ (v1a) and the base64 of its bytes: copy the one shown when the endpoint was created.',
  )
}

/** The MAC over the id, the timestamp and the body, as Standard Webhooks defines it. */
export async function macOf(key: CryptoKey, signed: Signed): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, contentOf(signed)))
}

function contentOf({ id, timestamp, body }: Signed): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const tail = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = new Uint8Array(head.length + tail.length)
  signed.set(head)
  signed.set(tail, head.length)
  return signed
}

/** One entry of the `webhook-signature` header. */
export function entryOf(mac: Uint8Array): string {
  return `${VERSION},${btoa(String.fromCharCode(...mac))}`
}

/** The most signatures that count: of three secrets in both versions. Each costs a verification. */
const MAX_SIGNATURES = 6

/** The signatures of one version in a header. Other versions are ignored. */
function signaturesIn(header: string, wanted: string): readonly Uint8Array<ArrayBuffer>[] {
  return header.split(' ', MAX_SIGNATURES).flatMap((entry) => {
    const [version, text = ''] = entry.split(',', 2)
    const signature = version === wanted ? decodeBase64(text) : undefined
    return signature === undefined ? [] : [signature]
  })
}

/** Compares two MACs in constant time. */
function sameMac(one: Uint8Array, other: Uint8Array): boolean {
  let difference = one.length ^ other.length
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] ?? 0)
  return difference === 0
}

/** The bytes of canonical padded base64, or undefined. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[0-9A-Za-z+/]*={0,2}$/.test(text)) return undefined
  return decodeBase64url(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
}
