import type { AppAttest } from '@bonded/contract'
import { DEVICE_MOVES } from '../domain/device-moves.ts'
import { instantOf } from '../domain/iso.ts'
import { checkIssuedAt } from '../domain/phone-rules.ts'
import { accept, type Result, reject } from '../domain/rejection.ts'
import type { Device, Instant } from '../domain/session.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'
import { recordDeviceChange } from './record-device-change.ts'
import type { Service } from './service.ts'
import { verifyAssertion } from './verify-assertion.ts'

/**
 * A request that a device signs about itself or its subject: a new token, a further key, a removal.
 */
export interface DeviceRequest {
  readonly device: Device
  /** The canonical text that the device must have signed. */
  readonly payload: string
  readonly signed: { readonly issued_at: string; readonly app_attest: AppAttest }
  /** Whether a device in this state may make the request. */
  readonly mayAsk: (device: Device) => boolean
}

/** Checks state, time and signature without using the assertion up, before expensive work. */
export function checkDeviceRequest(service: Service, request: DeviceRequest): Result<number> {
  const { device, payload, signed, mayAsk } = request
  if (!mayAsk(device)) return reject('device_not_usable')
  const timely = checkIssuedAt(instantOf(signed.issued_at), service.clock.now())
  if (!timely.ok) return timely
  const verified = verifyAssertion(service, { device, payload, appAttest: signed.app_attest })
  return verified.ok ? accept(verified.value.counter) : verified
}

/**
 * Checks a request against the stored device and uses its assertion up: of several requests with
 * one assertion exactly one is accepted.
 */
export function* takeDeviceRequest(
  service: Service,
  tables: Tables,
  request: DeviceRequest,
): Work<Result<Device>> {
  // An operator may have blocked the device or its subject since the request was authenticated.
  const device = yield* tables.devices.find(request.device.id)
  if (device === undefined) return reject('device_not_usable')
  const judged = checkDeviceRequest(service, { ...request, device })
  if (!judged.ok) return judged
  const issuedAt = instantOf(request.signed.issued_at)
  return yield* useAssertionOrSuspect(service, tables, { device, counter: judged.value, issuedAt })
}

/** Uses a verified assertion up, if its counter is new. Otherwise the device becomes suspect. */
export function* useAssertionOrSuspect(
  service: Service,
  tables: Tables,
  assertion: { readonly device: Device; readonly counter: number; readonly issuedAt: Instant },
): Work<Result<Device>> {
  const { device, counter, issuedAt } = assertion
  if (yield* tables.devices.useRequest(device.id, counter, issuedAt)) return accept(device)
  // An assertion that is signed later with a lower counter proves that two copies of the key exist.
  if (yield* tables.devices.suspect(device.id, issuedAt)) {
    yield* recordDeviceChange(tables, device.id, {
      at: service.clock.now(),
      kind: DEVICE_MOVES.suspect.to,
      step: 'counter',
    })
  }
  return reject('assertion_invalid', { step: 'counter' })
}
