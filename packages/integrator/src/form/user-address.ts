import { canonicalIpAddress } from '@bonded/contract'
import { GateError } from '../errors.ts'

/** The address of a user from `request.ip` and the like, which may have a port or a zone. */
function addressOf(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? []
  const withoutPort = bracketed ?? text.replace(/^([\d.]+):\d+$/, '$1')
  return canonicalIpAddress(withoutPort.replace(/%.*$/, ''))
}

/**
 * The user's address behind your own proxies, from `X-Forwarded-For`. Each proxy appends the
 * address that called it, so everything before what your proxies wrote is the user's own text.
 *
 * @param proxies the number of your own proxies in front of this program
 * @example forwardedAddress('198.51.100.1, 192.0.2.7') // '192.0.2.7'
 */
export function forwardedAddress(
  header: string | null | undefined,
  proxies = 1,
): string | undefined {
  const last = header?.split(',').at(-proxies)
  return last === undefined ? undefined : addressOf(last.trim())
}

/** @throws {GateError} `invalid_configuration` for anything but an address */
export function requireAddress(given: unknown): string {
  const address = typeof given === 'string' ? addressOf(given) : undefined
  if (address === undefined)
    throw new GateError(
      'invalid_configuration',
      'The option address of gatedForm returned no IP address. Behind a proxy, let your framework trust it, or use forwardedAddress.',
    )
  return address
}
