import type { Deprecation } from '@bonded/contract'

/**
 * Returns the headers that tell a client that the endpoint is deprecated: `Deprecation` (RFC 9745),
 * `Sunset` (RFC 8594), and the page that says what to call in its place.
 */
export function deprecationHeaders({
  since,
  sunset,
  link,
}: Deprecation): Readonly<Record<string, string>> {
  return {
    deprecation: `@${Date.parse(since) / 1000}`,
    sunset: new Date(sunset).toUTCString(),
    link: `<${link}>; rel="deprecation"; type="text/html"`,
  }
}
