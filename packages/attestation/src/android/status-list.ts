/**
 * Where Google publishes its list. The caller fetches it, and caches it as `Cache-Control` says.
 */
export const GOOGLE_STATUS_URL = 'https://android.googleapis.com/attestation/status'

/** What a serial may look like: hexadecimal, or decimal in the oldest entries. */
const SERIAL = /^[0-9a-f]{1,64}$/i

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
 */
export function readStatusList(text: string): StatusList | undefined {
  const list = parse(text)
  const entries = isObject(list) ? list.entries : undefined
  if (!isObject(entries)) return undefined
  const serials = new Set<string>()
  let malformedEntries = 0
  for (const [serial, entry] of Object.entries(entries)) {
    if (!SERIAL.test(serial) || !isObject(entry) || typeof entry.status !== 'string')
      malformedEntries += 1
    if (SERIAL.test(serial)) serials.add(serial.toLowerCase().replace(/^0+(?=.)/, ''))
  }
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
 * @param serial lower-case hex without leading zeros, as certificates are read
 */
export function isRevoked(serials: ReadonlySet<string>, serial: string): boolean {
  return serials.has(serial) || serials.has(BigInt(`0x${serial}`).toString())
}
