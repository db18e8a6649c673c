import type { DeviceFormat, SessionId, TenantId } from '@bonded/contract'
import { deviceRefOf } from '../../domain/device-ref.ts'
import { isAttested } from '../../domain/key-rules.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { SubjectReference } from '../../ports/tables/subject-table.ts'
import type { Work } from '../../ports/work.ts'
import { mayMove, MOVES } from '../../protocol/states.ts'
import { expireIfOverdue } from '../session/find-and-expire.ts'
import type { Service } from '../service.ts'

/** A device of a subject as one tenant sees it. */
interface TenantDevice {
  readonly deviceRef: string
  readonly status: Exclude<Device['status'], 'removed'>
  readonly format: DeviceFormat
  readonly isAttested: boolean
  /** When it last bonded with the tenant; undefined if it never has. */
  readonly lastBondedAt: Instant | undefined
}

/** A subject as one tenant sees it. */
export interface TenantSubject {
  readonly subjectRef: string
  /** When the tenant blocked it; undefined if it has not. */
  readonly blockedAt: Instant | undefined
  /** Its devices that are not removed, oldest first. */
  readonly devices: readonly TenantDevice[]
}

/** Names a subject as a tenant does. A reference of another form is undefined. */
export interface NamedSubject {
  readonly tenantId: TenantId
  readonly subjectRef: string | undefined
}

/** Returns the devices of a subject. A reference of another tenant reads like an unknown one. */
export function readSubject(service: Service, named: NamedSubject): Promise<Result<TenantSubject>> {
  return service.store.read((tables) => readSubjectOnce(service, tables, named))
}

/**
 * Blocks a subject for a tenant, or ends that block. Repeating it changes nothing. The block holds
 * at this tenant only, and ends the sessions of the tenant that the subject's devices hold and that
 * are not completed. It ends none of another tenant, and tells no other tenant.
 */
export function changeSubjectAtTenant(
  service: Service,
  { verb, ...named }: NamedSubject & { readonly verb: 'block' | 'unblock' },
): Promise<Result<TenantSubject>> {
  return service.store.write(function* (tables): Work<Result<TenantSubject>> {
    const found = yield* findSubject(tables, named)
    if (!found.ok) return found
    const subject = found.value
    const at = service.clock.now()
    const isBlock = verb === 'block'
    const isChanged = isBlock
      ? yield* tables.subjects.blockAt(subject, at)
      : yield* tables.subjects.unblockAt(subject)
    if (isChanged)
      for (const device of yield* tables.subjects.keys(subject.subjectId)) {
        const kind = isBlock ? 'subject_blocked' : 'subject_unblocked'
        yield* tables.devices.record(device.id, { at, kind, step: subject.tenantId })
        if (isBlock) yield* endSessions(service, tables, { device, ...subject })
      }
    return yield* readSubjectOnce(service, tables, named)
  })
}

/** Ends the tenant's sessions that a device holds, so that no bond of it is used any more. */
function* endSessions(
  service: Service,
  tables: Tables,
  { device, tenantId }: { readonly device: Device; readonly tenantId: TenantId },
): Work<void> {
  for (const held of yield* tables.sessions.pinnedTo(device.id)) {
    if (held.tenantId !== tenantId) continue
    const at = service.clock.now()
    const reason = 'device_subject_blocked'
    yield* tables.sessions.note(held.id, { at, kind: 'note', reason, step: 'tenant' })
    while (!(yield* endIfLive(service, tables, held.id)));
  }
}

/** @returns false if another call changed the session in between */
function* endIfLive(service: Service, tables: Tables, id: SessionId): Work<boolean> {
  const stored = yield* tables.sessions.find(id)
  const session = stored && (yield* expireIfOverdue(service, tables, stored))
  const now = service.clock.now()
  if (session === undefined || !mayMove(session, MOVES.kill, now)) return true
  return (yield* tables.sessions.move(session, MOVES.kill, { now })) !== undefined
}

function* findSubject(
  { subjects }: Tables,
  { tenantId, subjectRef }: NamedSubject,
): Work<Result<SubjectReference>> {
  const found = subjectRef === undefined ? undefined : yield* subjects.find(tenantId, subjectRef)
  return found === undefined ? reject('subject_not_found') : accept(found)
}

function* readSubjectOnce(
  { keys }: Service,
  tables: Tables,
  named: NamedSubject,
): Work<Result<TenantSubject>> {
  const found = yield* findSubject(tables, named)
  if (!found.ok) return found
  const { subjectId, subjectRef, blockedAt } = found.value
  const lastBonds = yield* tables.subjects.lastBonds(found.value)
  const devices = (yield* tables.subjects.keys(subjectId)).map((device) => ({
    deviceRef: deviceRefOf((text) => keys.sha256(text), { subjectRef, deviceId: device.id }),
    status: device.subjectBlocked === true ? 'blocked' : (device.status as TenantDevice['status']),
    format: device.format,
    isAttested: isAttested(device),
    lastBondedAt: lastBonds.get(device.id),
  }))
  return accept({ subjectRef, blockedAt, devices })
}
