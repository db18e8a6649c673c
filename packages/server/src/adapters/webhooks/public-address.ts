import { BlockList, isIP } from 'node:net'

/**
 * The networks of the IANA registries of special-purpose IPv4 addresses, multicast, and an address
 * at which a cloud serves secrets to its machines.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** The only IPv6 network with public addresses. It has no IPv4 address in an IPv6 spelling. */
const GLOBAL_IPV6 = ['2000::/3']
/** What it has of other addresses, among them two tunnels that embed an IPv4 address. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

const specialIpv4 = networks(SPECIAL_IPV4, 'ipv4')
const globalIpv6 = networks(GLOBAL_IPV6, 'ipv6')
const specialIpv6 = networks(SPECIAL_IPV6, 'ipv6')

/**
 * Whether an address is one of a public host. False for every other text.
 *
 * @example isPublicAddress('169.254.169.254') // false
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
    default:
      return false
  }
}

function networks(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}
