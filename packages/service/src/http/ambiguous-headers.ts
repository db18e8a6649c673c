import type { IncomingMessage } from 'node:http'

/**
 * Headers that decide the target, the caller and the body format of a request. If one is sent
 * twice, Node keeps the first value, but a proxy before the service may have checked the second.
 */
const SINGLE = new Set(['host', 'authorization', 'origin', 'content-type'])

/** Whether a request lacks a Host header, or repeats a header that allows only one value. */
export function isAmbiguous({ headers, rawHeaders }: IncomingMessage): boolean {
  if (headers.host === undefined) return true
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (!SINGLE.has(name)) continue
    if (seen.has(name)) return true
    seen.add(name)
  }
  return false
}
