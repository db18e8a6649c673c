import type { IncomingMessage } from 'node:http'

/**
 * Headers that decide whom a request is for, who sends it and what is in it. Where one is sent twice,
 * Node keeps the first, and a proxy before the service may have judged the second.
 */
const SINGLE = new Set(['host', 'authorization', 'origin', 'content-type'])

/** Whether a request has no Host, or a header twice that can have only one value. */
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
