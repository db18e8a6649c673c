/** The name of the rule in a JSON schema (`format`). */
export const IP_ADDRESS = 'ip-address'

const IPV4 = /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/
const GROUPS = 8
/** The first six groups of an IPv6 address that maps an IPv4 address (RFC 4291, 2.5.5.2). */
const MAPPED = [0, 0, 0, 0, 0, 0xffff]
/** The usual network of one site: an IPv4 /24 or an IPv6 /48. */
const IPV4_SITE_BYTES = 3
const IPV6_SITE_GROUPS = 3

/**
 * The one text form of an address: dotted decimals for IPv4, RFC 5952 for IPv6. An IPv4 address in
 * an IPv6 spelling reads as IPv4. Undefined for anything else: a port, a zone, a leading zero,
 * brackets.
 *
 * @example canonicalIpAddress('2001:0DB8::0:1') // '2001:db8::1'
 * @example canonicalIpAddress('::ffff:c000:201') // '192.0.2.1'
 */
export function canonicalIpAddress(text: string): string | undefined {
  if (isIpv4(text)) return text
  const groups = parseIpv6(text)
  if (groups === undefined) return undefined
  return ipv4Within(groups) ?? formatIpv6(groups)
}

/**
 * The network of an address that a site usually has to itself: an IPv4 /24 or an IPv6 /48. Two
 * devices in one building usually share it. Undefined for a text that is not an address.
 *
 * @example siteNetworkOf('192.0.2.77') // '192.0.2.0/24'
 * @example siteNetworkOf('2001:db8:1:2::3') // '2001:db8:1::/48'
 */
export function siteNetworkOf(text: string): string | undefined {
  const address = canonicalIpAddress(text)
  if (address === undefined) return undefined
  if (isIpv4(address)) return `${address.split('.').slice(0, IPV4_SITE_BYTES).join('.')}.0/24`
  const groups = parseIpv6(address) ?? []
  const site = groups.map((group, index) => (index < IPV6_SITE_GROUPS ? group : 0))
  return `${formatIpv6(site)}/48`
}

function isIpv4(text: string): boolean {
  // Some parsers read a leading zero as octal, so such an address is ambiguous.
  return IPV4.test(text) && !/(^|\.)0\d/.test(text)
}

/**
 * The eight groups of 16 bits of an IPv6 text; undefined if it is not one.
 *
 * @example parseIpv6('2001:db8::1') // [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]
 */
export function parseIpv6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map(parseGroups)
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined
  // An IPv4 ending can only be the last part.
  if (halves.length === 2 && halves[0]?.includes('.')) return undefined
  if (tail === undefined) return head.length === GROUPS ? head : undefined
  const omitted = GROUPS - head.length - tail.length
  return omitted >= 1 ? [...head, ...Array.from({ length: omitted }, () => 0), ...tail] : undefined
}

function parseGroups(text: string): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const last = parts.at(-1) ?? ''
  const dotted = isIpv4(last) ? last.split('.').map(Number) : undefined
  const hex = dotted === undefined ? parts : parts.slice(0, -1)
  if (!hex.every((part) => /^[0-9A-Fa-f]{1,4}$/.test(part))) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = dotted ?? []
  const ending = dotted === undefined ? [] : [a * 256 + b, c * 256 + d]
  return [...hex.map((part) => Number.parseInt(part, 16)), ...ending]
}

function ipv4Within(groups: readonly number[]): string | undefined {
  if (!MAPPED.every((group, index) => groups[index] === group)) return undefined
  return groups
    .slice(MAPPED.length)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

/**
 * RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups as `::`.
 */
function formatIpv6(groups: readonly number[]): string {
  let run = { start: 0, length: 0 }
  for (let start = 0; start < GROUPS; start++) {
    let end = start
    while (end < GROUPS && groups[end] === 0) end++
    if (end - start > run.length) run = { start, length: end - start }
  }
  const text = (part: readonly number[]) => part.map((group) => group.toString(16)).join(':')
  if (run.length < 2) return text(groups)
  return `${text(groups.slice(0, run.start))}::${text(groups.slice(run.start + run.length))}`
}
