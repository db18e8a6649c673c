import { isObject } from '../is-object.ts'

/** What a serial may look like: hexadecimal, or decimal in the oldest entries. */
const SERIAL = /^[0-9a-f]{1,64}$/i

/**
 * Reads the published list: `{entries: {<serial>: {status, reason}}}`. Every entry is bad: REVOKED, SUSPENDED, and a
 * status that does not exist yet.
 *
 * @returns the serials in lower case without leading zeros, or undefined for a text of another form
 */
export function readStatusList(text: string): ReadonlySet<string> | undefined {
  const list = parse(text)
  const entries = isObject(list) ? list.entries : undefined
  if (!isObject(entries)) return undefined
  const bad = new Set<string>()
  for (const [serial, entry] of Object.entries(entries)) {
    if (!SERIAL.test(serial) || !isObject(entry) || typeof entry.status !== 'string')
      return undefined
    bad.add(serial.toLowerCase().replace(/^0+(?=.)/, ''))
  }
  return bad
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
