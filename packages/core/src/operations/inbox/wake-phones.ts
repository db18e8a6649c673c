import { devicePushPayload, type SetPushRequest } from '@bonded/contract'
import type { WakeUp } from '../../collections/wake-ups.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { AttemptResult } from '../../domain/webhooks.ts'
import type { PushKey } from '../../ports/push.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { mayServe } from './admit-to-inbox.ts'
import { takeDeviceRequest } from '../device/device-request.ts'
import { recordDeviceChange } from '../device/record-device-change.ts'
import type { PhoneCaller, Service } from '../service.ts'
import { resultOf } from '../webhook/webhook-lane.ts'

/** The statuses by which a push service says that a subscription, or its key, is not valid. */
const ENDED = [401, 403, 404, 410]

/**
 * Creates the key of the push services in a new database, and encrypts it under exactly the listed
 * root keys. A key that none of them opens is replaced: the push services then reject the old
 * subscriptions, which ends them, and the phones subscribe again.
 */
export async function preparePushKey({ keys, store }: Service): Promise<void> {
  const before = await store.read((tables) => tables.push.key())
  const stored = (before && keys.pushKeys.open(before)?.stored) ?? keys.pushKeys.create()
  if (stored !== before) await store.write((tables) => tables.push.storeKey(stored, before))
}

/** The key of the push services. Undefined if no listed root key opens it. */
export function* pushKeyOf({ keys }: Service, tables: Tables): Work<PushKey | undefined> {
  const stored = yield* tables.push.key()
  return stored === undefined ? undefined : keys.pushKeys.open(stored)?.key
}

/** Sets where a phone is woken, against an assertion of its key. */
export async function setPush(
  service: Service,
  { device }: PhoneCaller,
  request: SetPushRequest,
): Promise<Result<void>> {
  const { endpoint, issued_at } = request
  const problem = endpoint === null ? undefined : service.push.endpointProblem(endpoint)
  if (problem !== undefined)
    return reject('invalid_member', {
      param: 'endpoint',
      detail: `The service sends nothing to it: ${problem}.`,
    })
  const { id: device_id, subjectId: subject_id } = device
  const origin = service.settings.publicOrigin
  const payload = devicePushPayload({ device_id, subject_id, issued_at, origin, endpoint })
  return service.store.write(function* (tables): Work<Result<void>> {
    const signed = { call: 'push', device, payload, signed: request } as const
    const taken = yield* takeDeviceRequest(service, tables, signed)
    if (!taken.ok) return taken
    yield* tables.push.subscribe(device, endpoint)
    const kind = endpoint === null ? 'push_off' : 'push_on'
    const change = { at: service.clock.now(), kind, step: 'phone' } as const
    yield* recordDeviceChange(tables, device.id, change)
    return accept(undefined)
  })
}

/**
 * Returns the user's phones to wake for a request, and counts it; none if a limit forbids it. Runs
 * in the unit that stores the request, so that the limit holds for concurrent ones.
 */
export function* phonesToWake(
  service: Service,
  tables: Tables,
  of: { readonly session: Session; readonly tenant: Tenant; readonly caller: string },
): Work<readonly WakeUp[]> {
  const { inboxSubjectId: subjectId, tenantId } = of.session
  if (!subjectId) return []
  const found: WakeUp[] = []
  for (const { device, endpoint } of yield* tables.push.subscriptions(subjectId))
    if (yield* mayServe(service, tables, { ...of, device }))
      found.push({ deviceId: device.id, endpoint })
  if (found.length === 0) return []
  const now = service.clock.now()
  return (yield* tables.push.countWakeUp({ tenantId, subjectId, caller: of.caller }, now))
    ? found
    : []
}

/** Wakes a phone once. A push service that knows the subscription no more ends it. */
export async function wakePhone(
  service: Service,
  { deviceId, endpoint }: WakeUp,
  signal: AbortSignal,
): Promise<void> {
  const { clock, meter, push, settings, store } = service
  const key = await store.read((tables) => pushKeyOf(service, tables))
  if (key === undefined) return meter.wokePhone('dropped')
  const result = await push.send({ endpoint, key, contact: settings.publicOrigin }, signal)
  if (!hasEnded(result)) return meter.wokePhone(resultOf(result))
  meter.wokePhone('ended')
  await store.write(function* (tables) {
    if (yield* tables.push.end(deviceId, endpoint))
      yield* recordDeviceChange(tables, deviceId, {
        at: clock.now(),
        kind: 'push_off',
        step: 'push_service',
      })
  })
}

function hasEnded(result: AttemptResult): boolean {
  return 'status' in result && ENDED.includes(result.status)
}
