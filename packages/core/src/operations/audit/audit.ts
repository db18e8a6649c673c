import { decodeBase64url, makeId, type SubjectId, type TenantId } from '@bonded/contract'
import {
  type AuditClass,
  type AuditedAction,
  type AuditEntry,
  auditLeaf,
  type AuditTarget,
  hex,
} from '../../domain/audit.ts'
import type { Device, Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { auditedValues, changedValues } from './audited-values.ts'
import type { Service } from '../service.ts'
import { StoreView } from './store-view.ts'

/**
 * The service for one audited action. Each of its units that change something also adds an entry,
 * in the same transaction: what cannot be recorded is not done. A unit that rejects its call has
 * changed nothing, and adds none.
 */
export function auditedService(service: Service, action: AuditedAction): Service {
  // Known since the first entry, because an erasure deletes what names the user.
  let known: Refer | undefined
  const store = new StoreView(service.store, async (inner, unit) => {
    const parties = await inner.read((tables) => partiesOf(tables, action.target))
    const { value, refer } = await inner.write(function* (tables) {
      yield* tables.audit.lock()
      const refer = known ?? (yield* referTo(service, tables, parties.subjectId))
      const target: AuditTarget = { ...action.target, tenantId: parties.tenantId }
      let before = yield* auditedValues(service, tables, target)
      function* concerns(more: AuditTarget): Work<void> {
        Object.assign(target, more)
        before = { ...(yield* auditedValues(service, tables, more)), ...before }
      }
      const value = yield* unit({ ...tables, concerns })
      if (isRejection(value)) return { value, refer: undefined }
      const after = yield* auditedValues(service, tables, target)
      yield* addEntry(service, tables, {
        action,
        target,
        refer,
        result: 'success',
        valueBefore: changedValues(before, after),
        valueAfter: changedValues(after, before),
      })
      return { value, refer }
    })
    known ??= refer
    return value
  })
  return { ...service, store, unrecordedStore: service.store }
}

/**
 * The service for an action that must not change anything, nor read data of a user unless it is
 * declared to, so that none stays unrecorded.
 */
export function readingService(
  service: Service,
  { action, auditClass }: { readonly action: string; readonly auditClass: AuditClass },
): Service {
  const refuse = (what: string): never => {
    throw new Error(`"${action}" is not declared as an action that ${what}`)
  }
  const refused = new Proxy({}, { get: () => refuse('reads data of a user') }) as never
  const personal = {
    sessions: refused,
    devices: refused,
    subjects: refused,
    rejections: refused,
    receipts: refused,
    subjectData: refused,
  }
  const withheld = auditClass === 'neither' ? personal : {}
  const store = new StoreView(
    service.store,
    async () => refuse('changes something'),
    (inner, unit) => inner.read((tables) => unit({ ...tables, ...withheld })),
  )
  return { ...service, store }
}

/** Adds an entry about a read, or about an action that was rejected with a code. */
export async function recordAction(
  service: Service,
  action: AuditedAction,
  result = 'success',
): Promise<void> {
  const parties = await service.store.read((tables) => partiesOf(tables, action.target))
  await service.store.write(function* (tables) {
    yield* tables.audit.lock()
    const refer = yield* referTo(service, tables, parties.subjectId)
    const target = { ...action.target, tenantId: parties.tenantId }
    const values = { valueBefore: null, valueAfter: null }
    yield* addEntry(service, tables, { action, target, refer, result, ...values })
  })
}

/**
 * Adds an entry about a pause of an inbox that a user has begun or ended with a phone, in the unit
 * that does so. The unit has taken the lock of the audit log.
 */
export function* recordPause(
  service: Service,
  tables: Tables,
  of: {
    readonly action: string
    readonly device: Device
    readonly tenantId: TenantId
    readonly before: Instant
    readonly after: Instant
  },
): Work<void> {
  const { action, device, tenantId, before, after } = of
  const refer = yield* referTo(service, tables, device.subjectId)
  const requestId = service.requestId ?? makeId('req', service.random.id())
  const actor = { kind: 'user', name: refer.to(device.id) ?? '' } as const
  const target = { tenantId, deviceId: device.id }
  const valueOf = (until: Instant) =>
    JSON.stringify({ 'subject_at_tenant.inbox_paused_until': until })
  yield* addEntry(service, tables, {
    action: { action, actor, requestId, target },
    target,
    refer,
    result: 'success',
    valueBefore: valueOf(before),
    valueAfter: valueOf(after),
  })
}

/** References to a user, and to what belongs to the user. */
interface Refer {
  readonly person: string | null
  readonly to: (id: string | undefined) => string | undefined
}

/**
 * The keyed references of a user, or without one, hashes: ids are random. The key is made at the
 * first entry about a user who exists.
 */
function* referTo(
  { keys, random }: Service,
  { audit, subjects }: Tables,
  id: SubjectId | undefined,
): Work<Refer> {
  const isKnown =
    id !== undefined &&
    ((yield* subjects.family(id)).length > 0 || (yield* subjects.blockedAt(id)) !== undefined)
  if (!isKnown) return { person: null, to: (given) => given && keys.sha256(given) }
  if ((yield* audit.personKey(id)) === undefined) yield* audit.addPersonKey(id, random.base62(43))
  const key = (yield* audit.personKey(id)) ?? ''
  return { person: keys.referenceOf(key, id), to: (given) => given && keys.referenceOf(key, given) }
}

/** The reference of a user in the entries; undefined if none of them names the user. */
export function personReference(service: Service, id: SubjectId): Promise<string | undefined> {
  return service.store.read(function* ({ audit }) {
    const key = yield* audit.personKey(id)
    return key && service.keys.referenceOf(key, id)
  })
}

/** The user and the tenant that a target is about, found without a lock. */
export function* partiesOf(
  { devices, receipts, sessions, subjects, tenants, webhooks }: Tables,
  target: AuditTarget,
): Work<{ readonly subjectId: SubjectId | undefined; readonly tenantId: TenantId | undefined }> {
  const { key, endpointId, sessionId, subjectRef } = target
  const session = sessionId && (yield* sessions.find(sessionId))
  const receipt = sessionId && (yield* receipts.find(sessionId))
  const owner =
    (session || receipt) ??
    (key && (yield* tenants.findKey(key))) ??
    (endpointId && (yield* webhooks.findEndpoint(endpointId)))
  const ownerId = owner ? owner.tenantId : undefined
  const tenantId = target.tenantId ?? (ownerId === 'operator' ? undefined : ownerId)
  const deviceId = target.deviceId ?? (session ? session.deviceId : undefined)
  const device = deviceId && (yield* devices.find(deviceId))
  const wanted = session ? session.wantedSubjectRef : receipt && subjectRefIn(receipt.jws)
  const ref = subjectRef ?? wanted
  const reference = ref ? yield* subjects.find(tenantId, ref) : undefined
  const subjectId = target.subjectId ?? (device ? device.subjectId : reference?.subjectId)
  return { subjectId, tenantId }
}

function subjectRefIn(jws: string): string | undefined {
  const claims = new TextDecoder().decode(decodeBase64url(jws.split('.')[1] ?? ''))
  return (JSON.parse(claims) as { subject_ref?: string | null }).subject_ref ?? undefined
}

function* addEntry(
  { clock, keys }: Service,
  { audit }: Tables,
  of: Pick<AuditEntry, 'result' | 'valueBefore' | 'valueAfter'> & {
    readonly action: AuditedAction
    readonly target: AuditTarget
    readonly refer: Refer
  },
): Work<void> {
  const { action, target, refer, result, valueBefore, valueAfter } = of
  const { key, successor, endpointId, sessionId, deviceId, eventId } = target
  const last = yield* audit.last()
  yield* audit.add({
    number: (last?.number ?? 0) + 1,
    at: clock.now(),
    action: action.action,
    actorKind: action.actor.kind,
    actor: action.actor.name,
    issuer: action.actor.issuer ?? null,
    address: action.actor.address ?? null,
    requestId: action.requestId,
    tenantId: target.tenantId ?? null,
    person: refer.person,
    target: JSON.stringify({
      key,
      successor,
      endpoint_id: endpointId,
      event: refer.to(eventId),
      session: refer.to(sessionId),
      device: refer.to(deviceId),
    }),
    valueBefore,
    valueAfter,
    result,
    reason: action.reason ?? null,
    previous: last === undefined ? '' : hex(auditLeaf(keys.sha256Bytes, last)),
    contentHash: null,
  })
}

function isRejection(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'ok' in value && value.ok === false
}
