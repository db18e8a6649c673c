import type { SubjectId, TenantId } from '@bonded/contract'
import type { AuditTarget } from '../../domain/audit.ts'
import type { Device, Instant } from '../../domain/session.ts'
import type { SubjectReference } from '../../ports/tables/subject-table.ts'
import { partiesOf } from '../audit/audit.ts'
import { recordSubjectChange } from '../device/record-device-change.ts'
import type { Service } from '../service.ts'
import { subjectNotFound, OperatorError } from './operator-error.ts'

/** A subject as an operator sees it. */
export interface SubjectRecord {
  readonly subjectId: SubjectId
  /** When it was blocked; undefined if it is not blocked. */
  readonly blockedAt: Instant | undefined
  /** Its devices that were not removed, oldest first. */
  readonly keys: readonly Device[]
  /** The subject as each tenant knows it, with the tenant's own block. */
  readonly references: readonly SubjectReference[]
}

/** A subject by its id, or by the reference of a tenant. */
export type NamedSubject = SubjectId | { readonly tenantId: TenantId; readonly subjectRef: string }
/** By the reference of any tenant, a device or a session too: enough to read, not to erase. */
type Findable = NamedSubject | AuditTarget

/** @throws {OperatorError} if there is no such subject, also of a session that no phone opened */
export async function findSubjectId(service: Service, named: Findable): Promise<SubjectId> {
  if (typeof named === 'string') return named
  const { subjectId } = await service.store.read((tables) => partiesOf(tables, named))
  if (subjectId !== undefined) return subjectId
  const whose = named.tenantId === undefined ? 'The service' : `The tenant ${named.tenantId}`
  throw new OperatorError(`${whose} knows no user by this subject_ref`, { code: 'not_found' })
}

/** @throws {OperatorError} if the subject has no devices and is not blocked */
export async function inspectSubject(service: Service, id: SubjectId): Promise<SubjectRecord> {
  const found = await service.store.read(function* (tables) {
    const keys = yield* tables.subjects.keys(id)
    const blockedAt = yield* tables.subjects.blockedAt(id)
    return { subjectId: id, blockedAt, keys, references: yield* tables.subjects.references(id) }
  })
  if (found.keys.length === 0 && found.blockedAt === undefined) throw subjectNotFound(id)
  return found
}

/** An operator's action on a subject, and the resulting state. */
export const SUBJECT_VERBS = { block: 'subject_blocked', unblock: 'subject_unblocked' } as const

/**
 * Blocks a subject or ends the block. A blocked subject's devices are rejected at their next call,
 * and it can register none. Its pinned sessions continue, and their timelines record the block.
 *
 * @throws {OperatorError} if the subject does not exist or is in that state already
 */
export async function changeSubject(
  service: Service,
  id: SubjectId,
  verb: keyof typeof SUBJECT_VERBS,
): Promise<SubjectRecord> {
  await inspectSubject(service, id)
  await service.store.write(function* (tables) {
    const at = service.clock.now()
    const done =
      verb === 'block' ? yield* tables.subjects.block(id, at) : yield* tables.subjects.unblock(id)
    if (!done)
      throw new OperatorError(`The subject is ${verb === 'block' ? 'already' : 'not'} blocked`, {
        code: 'conflict',
      })
    yield* recordSubjectChange(tables, id, { at, kind: SUBJECT_VERBS[verb], step: 'operator' })
  })
  return inspectSubject(service, id)
}

/**
 * Ends the pauses of a subject's inbox: of all tenants, or of one.
 *
 * @throws {OperatorError} if no tenant is paused
 */
export async function resumeInboxes(
  service: Service,
  id: SubjectId,
  only?: TenantId,
): Promise<SubjectRecord> {
  await service.store.write(function* (tables) {
    const at = service.clock.now()
    let isPaused = false
    for (const reference of yield* tables.subjects.references(id))
      if (only === undefined || reference.tenantId === only)
        isPaused = (yield* tables.subjects.resumeInbox(reference, at)) || isPaused
    if (!isPaused) throw new OperatorError('No tenant is paused', { code: 'conflict' })
    // Not in the sessions that the phones hold: another tenant could read it in their timelines.
    for (const device of yield* tables.subjects.keys(id))
      yield* tables.devices.record(device.id, { at, kind: 'inbox_resumed', step: 'operator' })
  })
  return inspectSubject(service, id)
}
