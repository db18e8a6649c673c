/**
 * Where Google publishes its list. The caller fetches it, and caches it as `Cache-Control` says.
 */
export const GOOGLE_STATUS_URL = 'https://android.googleapis.com/attestation/status'

/** What a serial may look like: hexadecimal, or decimal in the oldest entries. */
const SERIAL = /^[0-9a-f]{1,64}$/

/**
 * Returns a serial in lower case, without leading zeros and colons. Undefined for another text.
 * Node's `X509Certificate` writes serials in upper case, and `openssl` with colons.
 */
function normalize(serial: string): string | undefined {
  const text = serial.replaceAll(/(?<=[0-9a-f]):(?=[0-9a-f])/gi, '').toLowerCase()
  return SERIAL.test(text) ? text.replace(/^0+(?=.)/, '') : undefined
}

/** Google's list of revoked attestation certificates. */
export interface StatusList {
  /** Lower-case hex or decimal, without leading zeros. */
  readonly serials: ReadonlySet<string>
  /** How many entries were not of the published form. */
  readonly malformedEntries: number
}

/**
 * Reads the published list: `{entries: {<serial>: {status, reason}}}`. Every listed serial counts
 * as revoked, whatever its entry says: REVOKED, SUSPENDED, a status that does not exist yet, or an
 * entry that cannot be read. An entry whose serial cannot be read is skipped: one malformed entry
 * must not disable the other ones.
 *
 * @returns undefined for a text of another form, and for a list of which no entry can be read
 *
 * @example
 * import { readStatusList } from '@bonded/attestation/android'
 *
 * const list = readStatusList('{"entries":{"AB01":{"status":"REVOKED"}}}')
 * console.log([...list.serials].join()) // ab01
 */
export function readStatusList(text: string): StatusList | undefined {
  const list = parse(text)
  const entries = isObject(list) ? list.entries : undefined
  if (!isObject(entries)) return undefined
  const serials = new Set<string>()
  let malformedEntries = 0
  for (const [serial, entry] of Object.entries(entries)) {
    const listed = normalize(serial)
    if (listed === undefined || !isObject(entry) || typeof entry.status !== 'string')
      malformedEntries += 1
    if (listed !== undefined) serials.add(listed)
  }
  normalized.add(serials)
  return serials.size === 0 && malformedEntries > 0 ? undefined : { serials, malformedEntries }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Whether a list names a serial number. The list should contain hexadecimal serials, but its oldest
 * entries are decimal and cannot be distinguished. Both forms are checked.
 *
 * @param serials from `readStatusList`, or a set of your own, which is normalized at each call
 * @param serial hex, as a verifier of this package returns it or as Node's `X509Certificate` does
 * @throws {RangeError} for a text that is not a serial number: it must not read as not revoked
 *
 * @example
 * import { isRevoked, readStatusList } from '@bonded/attestation/android'
 *
 * const list = readStatusList('{"entries":{"ab01":{"status":"REVOKED"}}}')
 * console.log(isRevoked(list.serials, 'AB01'), isRevoked(list.serials, 'ab02')) // true false
 */
export function isRevoked(serials: ReadonlySet<string>, serial: string): boolean {
  const list = normalized.has(serials) ? serials : revokedSerials(serials)
  const wanted = normalizeOrThrow(serial)
  return list.has(wanted) || list.has(BigInt(`0x${wanted}`).toString())
}

/**
 * Returns serial numbers in the form that `isRevoked` looks for, so that it need not normalize them
 * at each call.
 *
 * @throws {RangeError} for a text that is not a serial number
 *
 * @example
 * import { isRevoked, revokedSerials } from '@bonded/attestation/android'
 *
 * console.log(isRevoked(revokedSerials(['00:AB:01']), 'ab01')) // true
 */
export function revokedSerials(serials: Iterable<string>): ReadonlySet<string> {
  const set = new Set([...serials].map(normalizeOrThrow))
  normalized.add(set)
  return set
}

/** The sets that contain only normalized serials. */
const normalized = new WeakSet<ReadonlySet<string>>()

function normalizeOrThrow(serial: string): string {
  const text = normalize(serial)
  if (text === undefined) throw new RangeError('a serial number must be hexadecimal')
  return text
}
