import { type DeviceId, makeId, type RegisterDeviceRequest } from '@bonded/contract'
import { DEVICE_MOVES } from '../domain/device-moves.ts'
import { DEVICE_CHALLENGE_TTL_MS } from '../domain/lifetimes.ts'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { Secret } from '../domain/secret.ts'
import type { Device, Instant } from '../domain/session.ts'
import type { RegisteredKey } from '../ports/proofs.ts'
import type { DeviceToken } from '../ports/store.ts'
import type { PhoneCaller, Service } from './service.ts'
import { recordDeviceChange } from './record-device-change.ts'

/** A challenge to register a key with. Nothing is stored: it carries its own proof of being ours. */
export function challengeDevice(service: Service): { challenge: string; expiresAt: Instant } {
  const expiresAt = service.clock.now() + DEVICE_CHALLENGE_TTL_MS
  return { challenge: service.keys.deviceChallenge(expiresAt), expiresAt }
}

/** Registers a phone's key, for a new subject or for the one whose token came along. */
export async function registerDevice(
  service: Service,
  caller: PhoneCaller | { readonly kind: 'anybody' },
  request: RegisterDeviceRequest,
): Promise<Result<{ device: Device; token: Secret }>> {
  const now = service.clock.now()
  const { keys } = service
  if (caller.kind === 'phone' && caller.device.status === 'blocked')
    return refuse('device_not_usable')
  const expiresAt = keys.deviceChallengeExpiry(request.challenge)
  if (expiresAt === undefined || now >= expiresAt)
    return refuse('challenge_not_usable', { param: 'challenge' })
  const proved = await prove(service, request)
  if (!proved.ok) return proved
  const {
    keyId,
    publicKey,
    environment,
    appId,
    counter = 0,
    webauthn,
    build,
    receipt,
  } = proved.value

  const { row, token } = createDeviceToken(service)
  const device: Device = {
    id: makeId('dev', service.random.id()),
    subjectId:
      caller.kind === 'phone' ? caller.device.subjectId : makeId('sub', service.random.id()),
    format: request.format,
    keyId,
    publicKey,
    environment,
    appId,
    status: 'active',
    counter,
    lastIssuedAt: null,
    createdAt: now,
    webauthn,
    build,
  }
  return service.store
    .write(function* (tables) {
      // The key first: a challenge is not spent on a key that cannot be taken.
      if (!(yield* tables.devices.register(device, row))) return refuse('key_already_registered')
      if (!(yield* tables.devices.useChallenge(request.challenge, expiresAt)))
        throw new ChallengeUsed()
      if (receipt !== undefined) yield* tables.devices.keepReceipt(device.id, receipt)
      yield* tables.devices.record(device.id, { at: now, kind: 'registered', step: null })
      // Whoever holds a token can add a key to its subject: the phone that had it should be able to find that out.
      if (caller.kind === 'phone')
        yield* recordDeviceChange(tables, caller.device.id, {
          at: now,
          kind: 'key_added',
          step: null,
        })
      return accept({ device, token })
    })
    .catch((failure: unknown) => {
      if (failure instanceof ChallengeUsed)
        return refuse('challenge_not_usable', { param: 'challenge' })
      throw failure
    })
}

/** A new device token: the row that is stored, and the token, which is shown once. */
export function createDeviceToken({ keys, random }: Service): { row: DeviceToken; token: Secret } {
  const id = random.base62(10)
  const token = new Secret(`dt_${id}_${random.base62(43)}`)
  return { row: { id, hash: keys.digest(token.reveal()) }, token }
}

/** Asks the registrar of the request's format. */
function prove(
  { registrars }: Service,
  request: RegisterDeviceRequest,
): Promise<Result<RegisteredKey>> | Result<RegisteredKey> {
  const notEnabled = refuse('format_not_enabled', { param: 'format' })
  switch (request.format) {
    case 'apple-app-attest':
      return registrars[request.format]?.register(request) ?? notEnabled
    case 'android-key':
      return registrars[request.format]?.register(request) ?? notEnabled
    case 'webauthn':
      return registrars[request.format]?.register(request) ?? notEnabled
    case 'software':
      return registrars[request.format]?.register(request) ?? notEnabled
  }
}

/** Undoes a registration whose challenge another one used first. */
class ChallengeUsed extends Error {}

/** The device's own record, to itself only. */
export function readDevice(caller: PhoneCaller, id: DeviceId | undefined): Result<Device> {
  return caller.device.id === id ? accept(caller.device) : refuse('device_not_found')
}

/** Removes a device for good: its key and its token stop working. */
export async function removeDevice(
  service: Service,
  caller: PhoneCaller,
  id: DeviceId | undefined,
): Promise<Result<void>> {
  if (caller.device.id !== id) return refuse('device_not_found')
  await service.store.write(function* (tables) {
    const at = service.clock.now()
    if (yield* tables.devices.move(id, DEVICE_MOVES.remove))
      yield* recordDeviceChange(tables, id, { at, kind: DEVICE_MOVES.remove.to, step: 'phone' })
  })
  return accept(undefined)
}
