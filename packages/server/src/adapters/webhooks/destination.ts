import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

const MAX_URL = 2_048
const HTTPS_PORT = 443

/** Finds the addresses of a name. Rejects if there are none. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Where the URL of an endpoint points to. */
export interface Destination {
  readonly url: URL
  /** The address without brackets. */
  readonly host: string
  readonly port: number
  /** Whether the operator has allowed this host and port, whatever their address. */
  readonly isAllowed: boolean
}

/**
 * Reads the URL of an endpoint.
 *
 * @param hosts the hosts and ports that the operator has allowed
 * @returns the destination, or what is wrong with the URL
 */
export function readDestination(text: string, hosts: readonly string[]): Destination | string {
  if (text.length > MAX_URL || !URL.canParse(text)) return 'it is not a URL'
  // The parser drops or encodes them, so the stored text would not be the address that is called.
  if (/[\p{C}\s]/u.test(text)) return 'it has a space or a hidden character'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it is not an https URL'
  if (url.username !== '' || url.password !== '') return 'it has a user name or a password'
  if (url.hash !== '') return 'it has a fragment'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'https:' ? HTTPS_PORT : 80))
  const isAllowed = hosts.includes(`${url.hostname}:${port}`)
  if (isAllowed) return { url, host, port, isAllowed }
  if (url.protocol !== 'https:') return 'it is not an https URL'
  if (port !== HTTPS_PORT) return 'its port is not 443'
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'its address is not public'
  return { url, host, port, isAllowed }
}

/** How many addresses of a name an attempt tries. */
const MAX_ADDRESSES = 4

/**
 * Resolves the host of a destination once and checks every address. The caller connects to the
 * returned addresses, so a name that resolves to another one later has no effect.
 *
 * @returns the addresses in the order to try them, or undefined if one is not public
 */
export async function resolveOnce(
  { host, isAllowed }: Destination,
  { resolve, resolveAllowed }: { readonly resolve: Resolve; readonly resolveAllowed: Resolve },
): Promise<readonly string[] | undefined> {
  const addresses = isIP(host) !== 0 ? [host] : await (isAllowed ? resolveAllowed : resolve)(host)
  return isAllowed || addresses.every(isPublicAddress)
    ? alternating(addresses).slice(0, MAX_ADDRESSES)
    : undefined
}

/** One address of each family after another, so that a family without a route costs one attempt. */
function alternating(addresses: readonly string[]): readonly string[] {
  const [first = '', ...rest] = addresses
  const own = [first, ...rest.filter((address) => isIP(address) === isIP(first))]
  const other = rest.filter((address) => isIP(address) !== isIP(first))
  return own
    .flatMap((address, index) => [address, other[index]])
    .concat(other.slice(own.length))
    .filter((address) => address !== undefined)
}

/** Parses hosts with ports, separated by commas. Undefined if one of them is not in this form. */
export function parseWebhookHosts(text: string): readonly string[] | undefined {
  const hosts = text === '' ? [] : text.split(',').map((host) => host.trim().toLowerCase())
  const isHost = (host: string) =>
    /^(\[[0-9a-f:]+\]|[a-z0-9.-]+):[1-9]\d{0,4}$/.test(host) &&
    URL.canParse(`http://${host}`) &&
    new URL(`http://${host}`).hostname === host.slice(0, host.lastIndexOf(':'))
  return hosts.every(isHost) ? hosts : undefined
}
