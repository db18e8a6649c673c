import { canonicalJson, encodeBase64url } from '@bonded/contract'

/**
 * The digest of a record, for `context.digest`: base64url SHA-256 of its canonical JSON (RFC 8785).
 * Compute it from your own record at create, and again from the *submitted* form. The gate accepts
 * the submit only if the two are equal. The order of members does not matter.
 *
 * @throws {NotCanonicalError} for values that JSON cannot represent: `undefined`, NaN, a Date, a
 * lone surrogate
 * @example await bindingDigest({ amount: 12500 }) === await bindingDigest({ amount: 12500 }) // true
 */
export async function bindingDigest(record: object): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(record))
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}
