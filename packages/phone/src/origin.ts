import { PhoneError } from './errors.ts'

const ORIGIN = /^(https?):\/\/([^/?#\s@\\]+)$/
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * Whether the phone may connect to a link's origin: over https, or on this machine. Without https,
 * the network could read the device token.
 */
export function isSafeOrigin(origin: string): boolean {
  const [, scheme, host = ''] = ORIGIN.exec(origin) ?? []
  return scheme === 'https' || (scheme === 'http' && LOOPBACK.test(host))
}

/**
 * Whose service a handoff is for. A link names it; a payload of the app's scheme does not, and means the configured one.
 *
 * @param own the origin this phone was made for; it may be plain http, its owner chose it
 * @throws {PhoneError} `origin_not_usable`
 */
export function originOf(
  handoff: { readonly origin: string | undefined },
  own: string | undefined,
): string {
  const origin = handoff.origin ?? own
  if (origin === undefined) throw new PhoneError('origin_not_usable', { reason: 'origin_missing' })
  if (origin !== own && !isSafeOrigin(origin))
    throw new PhoneError('origin_not_usable', { reason: 'origin_insecure' })
  return origin
}
