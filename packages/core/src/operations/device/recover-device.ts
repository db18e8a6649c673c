import { deviceRecoveryPayload, type RecoverDeviceRequest } from '@bonded/contract'
import { DEVICE_CHALLENGE_TTL_MS } from '../../domain/lifetimes.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device } from '../../domain/session.ts'
import type { Work } from '../../ports/work.ts'
import type { CallFacts } from '../../protocol/facts.ts'
import { runChecks, runReadingChecks } from '../../protocol/run-checks.ts'
import type { Tables } from '../../ports/store.ts'
import { rejectAndSuspectDevice } from './device-request.ts'
import { createDeviceToken } from './device-token.ts'
import { recordDeviceChange } from './record-device-change.ts'
import type { Registered } from './register-device.ts'
import type { Service } from '../service.ts'
import { countedFacts, verifyAssertion } from '../phone/signed-facts.ts'

/**
 * Issues a new token for the device of a browser key, to a phone that has lost its token and its
 * record of the device. The key alone authenticates it, as it alone approves requests. The token is
 * offered as in a rotation: the old one works until the new one is first used, so a lost response
 * costs nothing. A synced key recovers its device on each of its phones, and the last one has it.
 *
 * Every failure is `assertion_invalid`: a caller learns nothing about the keys of others.
 */
export async function recoverDevice(
  service: Service,
  { challenge, app_attest }: RecoverDeviceRequest,
): Promise<Result<Registered>> {
  const { keys, clock, settings } = service
  const challengeExpiresAt = keys.deviceChallengeExpiry(challenge)
  const payload = deviceRecoveryPayload({ challenge, origin: settings.publicOrigin })
  // The key has signed after the service made the challenge.
  const expiresAt = challengeExpiresAt ?? 0
  const issuedAt = expiresAt - DEVICE_CHALLENGE_TTL_MS
  const factsOf = (device: Device | undefined, tables?: Tables): CallFacts['recover'] => ({
    now: clock.now(),
    challengeExpiresAt,
    device,
    useChallenge: () => tables?.devices.useChallenge(challenge, expiresAt) ?? true,
    ...countedFacts(
      () =>
        device === undefined
          ? reject('assertion_invalid')
          : verifyAssertion(service, { device, payload, appAttest: app_attest }),
      (counter) =>
        device && tables ? tables.devices.useRequest(device.id, counter, issuedAt) : false,
    ),
  })

  // Before the write, so that a guess costs one lookup, and an unknown challenge none.
  const known = challengeExpiresAt !== undefined && clock.now() < challengeExpiresAt
  const found = known
    ? await service.store.read((tables) => tables.devices.findByKey(app_attest.key_id))
    : undefined
  const early = runReadingChecks('recover', factsOf(found))
  if (early !== undefined) return { ok: false, rejection: early.rejection }
  if (found === undefined) return reject('assertion_invalid')

  const made = createDeviceToken(service)
  return service.store.write(function* (tables): Work<Result<Registered>> {
    // An operator may have blocked the device or its subject since.
    const device = yield* tables.devices.find(found.id)
    const failed = yield* runChecks('recover', factsOf(device, tables))
    if (device === undefined) return reject('assertion_invalid')
    if (failed !== undefined)
      return yield* rejectAndSuspectDevice(service, tables, { ...failed, device, issuedAt })
    yield* tables.devices.offerToken(device.id, made.row)
    // The browser before the recovery may be that of a thief.
    yield* tables.push.subscribe(device, null)
    const change = { at: clock.now(), kind: 'token_recovered' as const, step: null }
    yield* recordDeviceChange(tables, device.id, change)
    return accept({ device, made })
  })
}
