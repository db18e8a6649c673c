import { canonicalJson, encodeBase64url } from '@bonded/contract'

/**
 * The digest of a record, for `context.digest`: base64url SHA-256 of its canonical JSON (RFC 8785).
 * Make it from your own record when the session is created and again from the *submitted* form; the
 * gate accepts only when the two are equal. Members in another order give the same digest.
 *
 * @throws {NotCanonicalError} for what JSON cannot hold: `undefined`, NaN, a Date, a lone surrogate
 * @example await bindingDigest({ amount: 12500 }) === await bindingDigest({ amount: 12500 }) // true
 */
export async function bindingDigest(record: object): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(record))
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}
