import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** Who may say in `X-Forwarded-For` for whom it speaks: so many proxies in a row, or those of these addresses. */
export type TrustedProxies = number | BlockList

/** As the setting is written: a number of proxies, or addresses and ranges separated by commas. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d$/.test(text)) return Number(text)
  const list = new BlockList()
  for (const entry of text.split(',')) {
    const [address = '', prefix, ...rest] = entry.trim().split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    const bits = family === 'ipv6' ? 128 : 32
    if (isIP(address) === 0 || rest.length > 0) return undefined
    if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bits))
      return undefined
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family)
  }
  return list
}

/**
 * The network a request comes from, for counting. Anybody can write `X-Forwarded-For`, so it is read from its end,
 * and only as far as trusted proxies have written it.
 */
export function clientNetwork(request: IncomingMessage, trusted: TrustedProxies): string {
  let address = plainAddress(request.socket.remoteAddress ?? '')
  const forwarded = request.headers['x-forwarded-for']
  if (forwarded === undefined) return networkOf(address)
  const hops = String(forwarded).split(',')
  for (let hop = 0; hops.length > 0 && isTrusted(address, hop, trusted); hop++) {
    const next = plainAddress(hops.pop() ?? '')
    // What a trusted proxy wrote and is no address tells nothing; the proxy itself is counted then.
    if (isIP(next) === 0) break
    address = next
  }
  return networkOf(address)
}

function isTrusted(address: string, hop: number, trusted: TrustedProxies): boolean {
  if (typeof trusted === 'number') return hop < trusted
  return isIP(address) !== 0 && trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** Without port, brackets and zone; an IPv4 address that came over an IPv6 socket as itself. */
function plainAddress(text: string): string {
  const bare = text.trim()
  const address =
    (/^\[([^\]]+)\](?::\d+)?$/.exec(bare)?.[1] ?? /^([\d.]+):\d+$/.exec(bare)?.[1] ?? bare).split(
      '%',
      1,
    )[0] ?? ''
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped !== undefined && isIPv4(mapped) ? mapped : address
}

/** What one customer of a provider has: an IPv4 address, or an IPv6 /64. Anything else is its own network. */
export function networkOf(text: string): string {
  const address = plainAddress(text)
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  // What the two colons leave out is zeros; a dotted end stands for two groups.
  const written = first.length + last.length + (tail.includes('.') ? 1 : 0)
  const groups = [...first, ...Array.from({ length: Math.max(0, 8 - written) }, () => '0'), ...last]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
