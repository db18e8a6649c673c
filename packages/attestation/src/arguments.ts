/**
 * Checks the arguments that must be bytes. A string would otherwise be rejected as a forgery, at a
 * step that says nothing about the mistake.
 *
 * @throws {TypeError} for a required argument that is not a Uint8Array, and for an optional one
 *   that is neither a Uint8Array nor undefined
 */
export function requireBytes(
  required: Readonly<Record<string, unknown>>,
  optional: Readonly<Record<string, unknown>> = {},
): void {
  for (const [name, value] of Object.entries(required))
    if (!isUint8Array(value)) throw new TypeError(notBytes(name, value))
  for (const [name, value] of Object.entries(optional))
    if (value !== undefined && !isUint8Array(value)) throw new TypeError(notBytes(name, value))
}

/** @throws {TypeError} for a chain that is not a list of Uint8Arrays */
export function requireChain(name: string, chain: unknown): void {
  if (!Array.isArray(chain)) throw new TypeError(`${name} must be an array of Uint8Arrays`)
  requireBytes(Object.fromEntries(chain.map((one, index) => [`${name}[${index}]`, one])))
}

/**
 * Checks the current time. Comparisons with NaN are false, so a missing time could pass as one
 * before an expiry.
 *
 * @throws {TypeError} for anything but a finite number
 */
export function requireInstant(now: unknown): void {
  if (typeof now !== 'number' || !Number.isFinite(now))
    throw new TypeError('now must be a number of milliseconds since 1970, such as Date.now()')
}

/**
 * Reads the SHA-256 digest of a policy as lower-case hex. Upper case and colons, as `keytool` and
 * `openssl` print digests, are accepted.
 *
 * @throws {RangeError} for any other text: a digest that can never match must not be passed over
 */
export function readDigest(name: string, digest: unknown): string {
  const text = typeof digest === 'string' ? digest.replaceAll(':', '').toLowerCase() : ''
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new RangeError(`${name} must be a SHA-256 digest in hexadecimal: 64 characters`)
  return text
}

/** Also for the bytes of another realm, such as that of a test runner. */
function isUint8Array(value: unknown): boolean {
  return (
    ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
  )
}

function notBytes(name: string, value: unknown): string {
  const kind = value === null ? 'null' : typeof value
  const advice =
    kind === 'string' ? `. Decode it first, for example with Buffer.from(text, 'base64url')` : ''
  return `${name} must be a Uint8Array, not ${kind === 'object' ? 'another object' : kind}${advice}`
}
