import { PhoneError } from './errors.ts'

const ORIGIN = /^(https?):\/\/((?:[\w.-]+|\[[\da-f:]+\])(?::\d+)?)$/i
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
 * The origin of a handoff. A link contains it. A payload of the app's scheme refers to the
 * configured one.
 *
 * @param own the configured origin of this phone, which may use plain http
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
