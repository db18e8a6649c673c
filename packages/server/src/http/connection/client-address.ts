import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP, isIPv4 } from 'node:net'
import { canonicalIpAddress } from '@bonded/contract'

/**
 * The proxies that the service trusts to name the client in `X-Forwarded-For`: either the number of
 * consecutive proxies before the service, or their addresses.
 */
export type TrustedProxies = number | BlockList

/**
 * Parses `BONDED_TRUST_PROXY`: a number of proxies from 0 to 9, or a list of addresses.
 *
 * @returns undefined if the text is neither
 */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  return /^\d$/.test(text) ? Number(text) : parseAddresses(text)
}

/**
 * Parses addresses and ranges in prefix notation, separated by commas.
 *
 * @returns undefined if an entry is not an address or range
 */
export function parseAddresses(text: string): BlockList | undefined {
  const list = new BlockList()
  for (const entry of text.split(',')) {
    const [address = '', prefix, ...extra] = entry.trim().split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    const bits = family === 'ipv6' ? 128 : 32
    if (isIP(address) === 0 || extra.length > 0) return undefined
    if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bits))
      return undefined
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family)
  }
  return list
}

/**
 * Returns the address of the client that sent a request. Any client can send `X-Forwarded-For`, so
 * the service reads it from its end, and only the entries that trusted proxies wrote.
 */
export function clientAddress(
  request: {
    readonly socket: { readonly remoteAddress?: string | undefined }
    readonly headers: IncomingHttpHeaders
  },
  trusted: TrustedProxies,
): string {
  let address = bareAddress(request.socket.remoteAddress ?? '')
  const forwarded = request.headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const hops = String(forwarded).split(',')
  for (let hop = 0; hops.length > 0 && isTrustedProxy(address, trusted, hop); hop++) {
    const next = bareAddress(hops.pop() ?? '')
    // An entry that is not an address identifies no client, so the proxy is counted instead.
    if (isIP(next) === 0) break
    address = next
  }
  return address
}

/**
 * Whether the service trusts the proxy at this address to name its client.
 *
 * @param hop the number of proxies between it and the service
 */
export function isTrustedProxy(address: string, trusted: TrustedProxies, hop = 0): boolean {
  if (typeof trusted === 'number') return hop < trusted
  return isIP(address) !== 0 && trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Removes port, brackets and zone from an address. IPv4-mapped IPv6 becomes IPv4. */
export function bareAddress(text: string): string {
  const known = recent.get(text)
  if (known !== undefined) return known
  const address = parseBareAddress(text)
  if (recent.size >= MAX_RECENT) recent.clear()
  if (text.length <= MAX_CACHED_LENGTH) recent.set(text, address)
  return address
}

/** Parsed addresses. Node names every IPv4 client of a dual-stack socket in the form of IPv6. */
const recent = new Map<string, string>()
/** A bound on memory: about 1 MB. */
const MAX_RECENT = 4_096
/** The longest IPv6 address with brackets and a port. */
const MAX_CACHED_LENGTH = 53

function parseBareAddress(text: string): string {
  const trimmed = text.trim()
  const withoutPort =
    /^\[([^\]]+)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed
  const address = withoutPort.split('%', 1)[0] ?? ''
  return canonicalIpAddress(address) ?? address
}
