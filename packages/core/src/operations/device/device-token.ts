import { Secret } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import { type TokenTimes, tokenTimes } from '../../domain/subject-keys.ts'
import type { DeviceToken } from '../../ports/tables/device-table.ts'
import type { Service } from '../service.ts'

/**
 * A new device token: the row that is stored, and the token with its times, which is shown once.
 */
export interface NewDeviceToken {
  readonly row: DeviceToken
  readonly token: Secret
  readonly times: TokenTimes
}

/** Creates a device token that is valid from now on. */
export function createDeviceToken(service: Service): NewDeviceToken {
  const { keys, random, clock } = service
  const id = random.base62(10)
  const token = new Secret(`dt_${id}_${random.base62(43)}`)
  const row = { id, hash: keys.digest(token.reveal()), issuedAt: clock.now() }
  return { row, token, times: timesOfToken(service, row.issuedAt) }
}

/** The times of a token that was issued at the instant, by the service's setting. */
export function timesOfToken({ settings }: Service, issuedAt: Instant): TokenTimes {
  return tokenTimes(issuedAt, settings.deviceTokenTtlMs)
}
