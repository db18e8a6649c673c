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

const GROUPS = 8
const BITS_A_GROUP = 16

/**
 * The networks that an address counts for, narrowest first. An IPv4 address, also one written as
 * IPv6 (`::ffff:10.0.0.1`, `::ffff:a00:1`), is the only network of itself. A text that is not an
 * address is a network of its own.
 *
 * @param address without port, brackets and zone
 */
export function networksOf(address: string): readonly Network[] {
  const groups = groupsOf(address)
  if (groups === undefined) return [{ key: address, quotas: 1 }]
  const mapped = mappedIPv4(groups)
  if (mapped !== undefined) return [{ key: mapped, quotas: 1 }]
  return COUNTED_PREFIXES.map(({ bits, quotas }) => ({ key: prefixOf(groups, bits), quotas }))
}

/** The dotted form of an IPv4 address that is written as IPv6; any other text as it is. */
export function withoutMapping(address: string): string {
  const groups = groupsOf(address)
  return (groups && mappedIPv4(groups)) ?? address
}

/** The eight groups of an IPv6 address; undefined where the text is not one. */
function groupsOf(address: string): readonly number[] | undefined {
  if (!address.includes(':')) return undefined
  const halves = withDottedEndInHex(address).split('::')
  if (halves.length > 2) return undefined
  const [first = [], last = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const omitted = GROUPS - first.length - last.length
  if (halves.length === 2 ? omitted < 1 : omitted !== 0) return undefined
  const written = [...first, ...Array.from({ length: omitted }, () => '0'), ...last]
  if (!written.every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined
  return written.map((group) => Number.parseInt(group, 16))
}

/** An IPv6 address can end in dotted decimal, which stands for its last two groups. */
function withDottedEndInHex(address: string): string {
  return address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_text, ...bytes) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
}

function mappedIPv4(groups: readonly number[]): string | undefined {
  const [high = 0, low = 0] = groups.slice(6)
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  return isMapped ? `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}` : undefined
}

function prefixOf(groups: readonly number[], bits: number): string {
  const whole = Math.ceil(bits / BITS_A_GROUP)
  const written = groups.slice(0, whole).map((group, index) => {
    const unused = Math.max(0, (index + 1) * BITS_A_GROUP - bits)
    return ((group >> unused) << unused).toString(16)
  })
  return `${written.join(':')}::/${bits}`
}
