import type { IncomingMessage } from 'node:http'
import { type LimitName, type SessionId, statusOf } from '@bonded/contract'
import { accept, type Rejection, type Result, reject } from '@bonded/core/domain/rejection'
import type { Limit } from '@bonded/core/domain/limits'
import { clientAddress } from '../http/connection/client-address.ts'
import { takesOfNetworks } from '../http/limits.ts'
import type { Service } from '@bonded/core/operations/service'
import type { Take } from '@bonded/core/ports/limiter'

/** Longer than a watch token. A longer value must not fill the limiter's memory. */
const MAX_KEY_LENGTH = 64

/**
 * Counts an upgrade for its session and watch token, before any read from the store. A wrong
 * watch token has its own bucket, so it does not use up the quota of the right one.
 */
export function countUpgrade(
  service: Service,
  { id, watchToken }: { readonly id: SessionId; readonly watchToken: string },
): Result<undefined> {
  const key = `${id} ${watchToken.slice(0, MAX_KEY_LENGTH)}`
  const limited = take(service, 'channel', (limit) => [{ limit, key }])
  return limited === undefined ? accept(undefined) : limited
}

/**
 * Counts a rejected upgrade for its network, together with rejected requests. Beyond the limit, the
 * service responds to further ones with 429. An accepted upgrade is not counted, so an attacker
 * cannot keep the other users of its network from their channels.
 *
 * @returns the rejection to respond with
 */
export function countRejectedUpgrade(
  service: Service,
  request: IncomingMessage,
  rejection: Rejection,
): Rejection {
  const status = statusOf(rejection.reason)
  if (status === 429 || status >= 500) return rejection
  const address = clientAddress(request, service.settings.trustedProxies)
  const names: readonly LimitName[] =
    rejection.reason === 'credential_invalid' ? ['bad_credential', 'rejected'] : ['rejected']
  for (const name of names) {
    const limited = take(service, name, (limit) => takesOfNetworks(limit, { address, scope: '' }))
    if (limited !== undefined) return limited.rejection
  }
  return rejection
}

/** @returns the rejection if the limit is exhausted */
function take(
  { limiter, settings: { limits } }: Service,
  name: LimitName,
  takesOf: (limit: Limit) => readonly Take[],
): ReturnType<typeof reject> | undefined {
  if (limits === 'off') return undefined
  const { granted, waitMs } = limiter.take(takesOf(limits[name]))
  return granted ? undefined : reject('rate_limited', { step: name, retryAfterMs: waitMs })
}
