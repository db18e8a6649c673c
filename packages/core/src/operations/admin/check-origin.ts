import { BlockList, isIP } from 'node:net'
import { isExactOrigin } from '@bonded/contract'
import { OperatorError } from './operator-error.ts'

/** Addresses of this machine: any program on the user's machine can serve a page there. */
const LOOPBACK = blockList(['127.0.0.0', 8, 'ipv4'], ['::1', 128, 'ipv6'])
const UNSPECIFIED = blockList(['0.0.0.0', 8, 'ipv4'], ['::', 128, 'ipv6'])
/**
 * RFC 1918, shared (RFC 6598), link-local, site-local and unique local addresses: another network
 * has another page there.
 */
const PRIVATE = blockList(
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['fe80::', 9, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
)

/** The tenant that the origin is for. */
interface Owner {
  readonly environment: 'sandbox' | 'production'
  readonly demo: boolean
}

/**
 * Checks an origin that an operator wants to allow for a tenant's pages.
 *
 * @returns why it is rejected, as a sentence for the operator; undefined if it is valid
 */
export function checkOrigin(origin: string, { environment, demo }: Owner): string | undefined {
  // The URL parser normalizes: a path, userinfo, capitals, a default port or an odd spelling of an
  // address makes its origin differ from the text. Browsers send the normalized form only.
  if (!URL.canParse(origin) || new URL(origin).origin !== origin)
    return `${origin} is not an origin. Write scheme, host and port only, as a browser sends it: https://shop.example`
  const { protocol, hostname } = new URL(origin)
  if (hostname.includes('*'))
    return `${origin} has a wildcard. Name each origin: they are compared exactly`
  if (!isExactOrigin(origin))
    return `${origin} has a character that no host name has. Name each origin by itself`
  if (hostname.endsWith('.')) return `${origin} ends in a dot. Write the host without it`
  if (hostname.endsWith('.localhost'))
    return `${origin} is a name of this machine: only localhost itself is possible, for a demo tenant`
  if (isWithin(UNSPECIFIED, hostname))
    return `${origin} is the unspecified address, which no page has`
  const local = hostname === 'localhost' || isWithin(LOOPBACK, hostname)
  if (local && !demo)
    return `${origin} is this machine: only a sandbox tenant that was created with --demo may use it`
  if (!local && protocol !== 'https:') return `${origin} is not https`
  if (environment === 'production' && isWithin(PRIVATE, hostname))
    return `${origin} is a private address. A production tenant's pages have public ones`
  return undefined
}

/** Longer than any address that a tenant uses. */
const MAX_ADDRESS_LENGTH = 2_000

/**
 * Rejects a session endpoint that is not an address of the tenant's own backend.
 *
 * @throws {OperatorError} where it is the service's own address, which only a backend may call
 */
export function checkSessionEndpoint(
  address: string,
  owner: Owner,
  { publicOrigin }: { readonly publicOrigin: string },
): void {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const problem =
    url === undefined || url.href !== address || address.length > MAX_ADDRESS_LENGTH
      ? `${address} is not an address of the form https://shop.example/bond-session`
      : url.username !== '' || url.password !== '' || url.hash !== ''
        ? `${address} has a user name, a password or a fragment`
        : url.origin === publicOrigin
          ? `${address} is the service itself, which needs the server credential. Name the address on the tenant's own backend that creates a session for its page`
          : checkOrigin(url.origin, owner)
  if (problem !== undefined) throw new OperatorError(problem, { code: 'invalid' })
}

/** Checks an IPv4 address in IPv6 form as the IPv4 address that it reaches. */
function isWithin(list: BlockList, hostname: string): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

function blockList(...subnets: [net: string, prefix: number, type: 'ipv4' | 'ipv6'][]): BlockList {
  const list = new BlockList()
  for (const [net, prefix, type] of subnets) list.addSubnet(net, prefix, type)
  return list
}
