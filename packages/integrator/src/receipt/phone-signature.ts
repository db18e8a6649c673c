import { decodeBase64url, encodeBase64url, type ReceiptClaims } from '@bonded/contract'

const HALF_BYTES = 32
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** The flags of a user who was present, and whom the authenticator verified. */
const USER_FLAGS = 0x05
const FLAGS_AT = 32

/**
 * Whether the phone's key signed the payload of a receipt, by its format (protocol 5).
 *
 * @param origin of the service, which a browser's client data must name
 */
export async function isSignedByPhone(
  phone: ReceiptClaims['phone'],
  origin: string,
): Promise<boolean> {
  const payloadHash = await sha256(new TextEncoder().encode(phone.payload))
  const clientDataHash =
    phone.format === 'webauthn'
      ? await hashOfClientData(phone, { payloadHash, origin })
      : payloadHash
  const authenticatorData = decodeBase64url(phone.authenticator_data)
  const signature = rawSignature(decodeBase64url(phone.signature))
  const spki = decodeBase64url(phone.public_key)
  if (clientDataHash === undefined || !authenticatorData || !signature || !spki) return false
  const flags = (authenticatorData[FLAGS_AT] ?? 0) & USER_FLAGS
  if (phone.format === 'webauthn' && flags !== USER_FLAGS) return false
  const joined = concat(authenticatorData, clientDataHash)
  const signed = phone.format === 'apple-app-attest' ? await sha256(joined) : joined
  const key = await crypto.subtle
    .importKey('spki', spki, ECDSA, false, ['verify'])
    .catch(() => null)
  return key !== null && crypto.subtle.verify(ECDSA, key, signature, signed)
}

/** The hash of a browser's client data, if it is of the payload, and of the service's own page. */
async function hashOfClientData(
  { client_data_json: text }: ReceiptClaims['phone'],
  { payloadHash, origin }: { readonly payloadHash: Uint8Array; readonly origin: string },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = text === undefined ? undefined : decodeBase64url(text)
  if (bytes === undefined) return undefined
  const said = objectIn(bytes) ?? {}
  const isOfPayload =
    said['type'] === 'webauthn.get' && said['challenge'] === encodeBase64url(payloadHash)
  const isInFrame = (said['crossOrigin'] ?? false) !== false || said['topOrigin'] !== undefined
  return isOfPayload && said['origin'] === origin && !isInFrame ? sha256(bytes) : undefined
}

/** An ECDSA signature as Web Crypto takes it: r and s from DER, 32 bytes each. */
function rawSignature(der: Uint8Array | undefined): Uint8Array<ArrayBuffer> | undefined {
  if (der === undefined || der[0] !== 0x30 || der[1] !== der.length - 2) return undefined
  const raw = new Uint8Array(2 * HALF_BYTES)
  let at = 2
  for (const end of [HALF_BYTES, 2 * HALF_BYTES]) {
    const length = der[at + 1] ?? 0
    const digits = der.subarray(at + 2, at + 2 + length)
    // A leading zero keeps the number positive. DER has no other one, and no negative r or s.
    const number = digits[0] === 0 ? digits.subarray(1) : digits
    if (der[at] !== 0x02 || digits.length !== length || number.length > HALF_BYTES) return undefined
    if ((number[0] ?? 0) >= 0x80 !== (digits[0] === 0)) return undefined
    raw.set(number, end - number.length)
    at += 2 + length
  }
  return at === der.length ? raw : undefined
}

/** The object that bytes encode as JSON in UTF-8; undefined for anything else. */
export function objectIn(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** The bytes of both, joined. */
export function concat(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(one.length + other.length)
  joined.set(one)
  joined.set(other, one.length)
  return joined
}
