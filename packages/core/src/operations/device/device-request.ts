import type { AppAttest } from '@bonded/contract'
import { DEVICE_MOVES } from '../../domain/device-moves.ts'
import { instantOf } from '../../domain/iso.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { CallFacts } from '../../protocol/facts.ts'
import { type Failure, runChecks, runReadingChecks } from '../../protocol/run-checks.ts'
import { recordDeviceChange } from './record-device-change.ts'
import type { Service } from '../service.ts'
import { signedFacts } from '../phone/signed-facts.ts'

/**
 * A request that a device signs about itself or its subject: a new token, a further key, a removal,
 * and what concerns its inbox.
 */
export interface DeviceRequest {
  readonly call: 'token' | 'add' | 'remove' | 'inbox' | 'resume' | 'push'
  readonly device: Device
  /** The canonical text that the device must have signed. */
  readonly payload: string
  readonly signed: { readonly issued_at: string; readonly app_attest: AppAttest }
  /** Whether a device removes itself. */
  readonly isItself?: boolean
}

/** Checks state, time and signature without using the assertion up, before expensive work. */
export function checkDeviceRequest(service: Service, request: DeviceRequest): Result<void> {
  const facts = factsOf(service, request, () => true)
  const failed = runReadingChecks(request.call, facts)
  return failed === undefined ? accept(undefined) : { ok: false, rejection: failed.rejection }
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
  const issuedAt = instantOf(request.signed.issued_at)
  const facts = factsOf(service, { ...request, device }, (counter) =>
    tables.devices.useRequest(device.id, counter, issuedAt),
  )
  const failed = yield* runChecks(request.call, facts)
  if (failed === undefined) return accept(device)
  return yield* rejectAndSuspectDevice(service, tables, { ...failed, device, issuedAt })
}

function factsOf(
  service: Service,
  { device, payload, signed, isItself = false }: DeviceRequest,
  raise: Parameters<typeof signedFacts>[2],
): CallFacts[DeviceRequest['call']] & { readonly isItself: boolean } {
  const { app_attest: appAttest, issued_at } = signed
  return {
    ...signedFacts(service, { device, payload, appAttest }, raise),
    now: service.clock.now(),
    device,
    issuedAt: instantOf(issued_at),
    isItself,
  }
}

/**
 * Rejects a request at the check that it failed. An assertion that is signed later with a lower
 * counter proves that two copies of the key exist, and the device becomes suspect.
 */
export function* rejectAndSuspectDevice(
  service: Service,
  tables: Tables,
  failed: Failure & { readonly device: Device; readonly issuedAt: Instant },
): Work<Result<never>> {
  const { check, rejection, device, issuedAt } = failed
  if (check.suspects && (yield* tables.devices.suspect(device.id, issuedAt)))
    yield* recordDeviceChange(tables, device.id, {
      at: service.clock.now(),
      kind: DEVICE_MOVES.suspect.to,
      step: check.step,
    })
  return { ok: false, rejection }
}
