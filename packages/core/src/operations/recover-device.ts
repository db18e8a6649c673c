import { deviceRecoveryPayload, type RecoverDeviceRequest } from '@bonded/contract'
import { DEVICE_CHALLENGE_TTL_MS } from '../domain/lifetimes.ts'
import { accept, type Result, reject } from '../domain/rejection.ts'
import type { Device } from '../domain/session.ts'
import { mayManageKeys } from '../domain/subject-keys.ts'
import type { Work } from '../ports/work.ts'
import { useAssertionOrSuspect } from './device-request.ts'
import { createDeviceToken } from './device-token.ts'
import { recordDeviceChange } from './record-device-change.ts'
import type { Registered } from './register-device.ts'
import type { Service } from './service.ts'
import { verifyAssertion } from './verify-assertion.ts'

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
  const fail = (step: string) => reject('assertion_invalid', { step })
  const expiresAt = keys.deviceChallengeExpiry(challenge)
  if (expiresAt === undefined || clock.now() >= expiresAt) return fail('challenge')
  const payload = deviceRecoveryPayload({ challenge, origin: settings.publicOrigin })
  const verify = (device: Device | undefined): Result<number> => {
    if (device === undefined) return fail('unknown_key')
    // The counter or the id of an app's key is in the record that the phone has lost.
    if (device.format !== 'webauthn') return fail('format')
    // A suspect key may be a copy: its device waits for the operator.
    if (!mayManageKeys(device)) return fail('device_state')
    const verified = verifyAssertion(service, { device, payload, appAttest: app_attest })
    return verified.ok ? accept(verified.value.counter) : verified
  }

  // Before the write, so that a guess costs one lookup.
  const found = await service.store.read((tables) => tables.devices.findByKey(app_attest.key_id))
  const early = verify(found)
  if (found === undefined || !early.ok) return early.ok ? fail('unknown_key') : early

  const made = createDeviceToken(service)
  return service.store.write(function* (tables): Work<Result<Registered>> {
    // An operator may have blocked the device or its subject since.
    const device = yield* tables.devices.find(found.id)
    const verified = verify(device)
    if (device === undefined || !verified.ok) return verified.ok ? fail('unknown_key') : verified
    // First: a repeated request must not look like a copied key.
    if (!(yield* tables.devices.useChallenge(challenge, expiresAt))) return fail('challenge')
    // The key has signed after the service made the challenge.
    const issuedAt = expiresAt - DEVICE_CHALLENGE_TTL_MS
    const used = yield* useAssertionOrSuspect(service, tables, {
      device,
      counter: verified.value,
      issuedAt,
    })
    if (!used.ok) return used
    yield* tables.devices.offerToken(device.id, made.row)
    const change = { at: clock.now(), kind: 'token_recovered' as const, step: null }
    yield* recordDeviceChange(tables, device.id, change)
    return accept({ device, made })
  })
}
