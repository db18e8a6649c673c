import { canonicalIpAddress, parseIpv6 } from '@bonded/contract'

/** A network that contains a client's address. Counters are kept per network, never per address. */
export interface Network {
  /** Distinct for each network: an IPv4 address, or an IPv6 prefix such as `2001:db8:0:1::/64`. */
  readonly key: string
  /** How many times the quota of a single client this network has. */
  readonly quotas: number
}

/**
 * The IPv6 prefixes that are counted, narrowest first, and how many quotas each has. A device or
 * a small network has a /64, a home connection usually a /56, and a site a /48. Without the wider
 * prefixes one home connection would have 256 times the quota of an IPv4 address.
 */
export const COUNTED_PREFIXES = [
  { bits: 64, quotas: 1 },
  { bits: 56, quotas: 2 },
  { bits: 48, quotas: 8 },
] as const

const BITS_A_GROUP = 16

/**
 * The networks that count an address, narrowest first. An IPv4 address, also one written as IPv6
 * (`::ffff:10.0.0.1`, `::ffff:a00:1`), is its own only network. So is a text that is not an
 * address.
 *
 * @param address without port, brackets and zone
 */
export function networksOf(address: string): readonly Network[] {
  const known = recent.get(address)
  if (known !== undefined) return known
  const networks = parseNetworks(address)
  // Every request looks up its client's networks, and most clients send several requests.
  if (recent.size >= MAX_RECENT) recent.clear()
  if (address.length <= MAX_ADDRESS_LENGTH) recent.set(address, networks)
  return networks
}

const recent = new Map<string, readonly Network[]>()
/** A bound on memory: about 1 MB. */
const MAX_RECENT = 4_096
/** The longest text of an IPv6 address. A client can send any text; only addresses are cached. */
const MAX_ADDRESS_LENGTH = 45

function parseNetworks(address: string): readonly Network[] {
  const canonical = canonicalIpAddress(address) ?? address
  // Every new connection passes here, and most are IPv4.
  const groups = canonical.includes(':') ? parseIpv6(canonical) : undefined
  if (groups === undefined) return [{ key: canonical, quotas: 1 }]
  return COUNTED_PREFIXES.map(({ bits, quotas }) => ({ key: prefixOf(groups, bits), quotas }))
}

function prefixOf(groups: readonly number[], bits: number): string {
  const whole = Math.ceil(bits / BITS_A_GROUP)
  const written = groups.slice(0, whole).map((group, index) => {
    const unused = Math.max(0, (index + 1) * BITS_A_GROUP - bits)
    return ((group >> unused) << unused).toString(16)
  })
  return `${written.join(':')}::/${bits}`
}
