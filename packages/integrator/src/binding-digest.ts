import { canonicalJson, encodeBase64url, NotCanonicalError } from '@bonded/contract'

/**
 * The digest of a record, for `context.digest`: base64url SHA-256 of its canonical JSON (RFC 8785).
 * Compute it from your own record at create, and again from the *submitted* form. The gate accepts
 * the submit only if the two are equal. The order of members does not matter.
 *
 * @throws {NotCanonicalError} for values that JSON cannot represent: `undefined`, NaN, a Date, a
 * lone surrogate; for a `toJSON` function, which could replace the record; and for integers beyond
 * 2^53 - 1, of which JavaScript reads several as one. Pass those as strings
 * @example
 * const digest = await bindingDigest({ amount: 12500 })
 * digest === (await bindingDigest({ amount: 12500 })) // true
 */
export async function bindingDigest(record: object): Promise<string> {
  rejectUnsafeIntegers(record)
  const bytes = new TextEncoder().encode(canonicalJson(record))
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))
}

/** @throws {NotCanonicalError} for integers beyond 2^53 - 1 */
export function rejectUnsafeIntegers(value: unknown): void {
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotCanonicalError(
      `${String(value)} may stand for several integers: pass it as a string`,
    )
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(value)) rejectUnsafeIntegers(member)
}
