import type { SubjectId } from '@bonded/contract'
import type { Device, Instant } from '../../domain/session.ts'
import { recordSubjectChange } from '../record-device-change.ts'
import type { Service } from '../service.ts'
import { subjectNotFound, OperatorError } from './operator-error.ts'

/** A subject as an operator sees it. */
export interface SubjectRecord {
  readonly subjectId: SubjectId
  /** When it was blocked; undefined if it is not blocked. */
  readonly blockedAt: Instant | undefined
  /** Its devices that were not removed, oldest first. */
  readonly keys: readonly Device[]
}

/** @throws {OperatorError} if the subject has no devices and is not blocked */
export async function inspectSubject(service: Service, id: SubjectId): Promise<SubjectRecord> {
  const found = await service.store.read(function* (tables) {
    const keys = yield* tables.subjects.keys(id)
    return { subjectId: id, blockedAt: yield* tables.subjects.blockedAt(id), keys }
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
