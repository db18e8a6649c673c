import type { IncomingMessage } from 'node:http'

/**
 * Headers that decide the target, the caller and the body format of a request. If one is sent
 * twice, Node keeps the first value, but a proxy before the service may have checked the second.
 */
const SINGLE = ['host', 'authorization', 'origin', 'content-type']
const LENGTHS = new Set(SINGLE.map((name) => name.length))

/**
 * Whether a request lacks a Host header, or repeats a header that allows only one value. HTTP/1.0
 * requires no Host, and load balancers probe with it.
 */
export function isAmbiguous({ headers, rawHeaders, httpVersion }: IncomingMessage): boolean {
  if (headers.host === undefined && httpVersion !== '1.0') return true
  // One bit for each name that has occurred, because every request passes here.
  let seen = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!LENGTHS.has(name.length)) continue
    const place = SINGLE.indexOf(name.toLowerCase())
    if (place < 0) continue
    if ((seen & (1 << place)) !== 0) return true
    seen |= 1 << place
  }
  return false
}
