import type { SubjectId } from '@bonded/contract'
import type { Device, Instant } from '../../domain/session.ts'
import { recordSubjectChange } from '../record-device-change.ts'
import type { Service } from '../service.ts'
import { subjectNotFound, OperatorError } from './operator-error.ts'

/** A subject as an operator sees it. */
export interface SubjectRecord {
  readonly subjectId: SubjectId
  /** Since when it is blocked; undefined where it is not. */
  readonly blockedAt: Instant | undefined
  /** Its devices that were not removed, oldest first. */
  readonly keys: readonly Device[]
}

/** @throws {OperatorError} where the subject never had a device that was not removed, and is not blocked */
export async function inspectSubject(service: Service, id: SubjectId): Promise<SubjectRecord> {
  const found = await service.store.read(function* (tables) {
    const keys = yield* tables.subjects.keys(id)
    return { subjectId: id, blockedAt: yield* tables.subjects.blockedAt(id), keys }
  })
  if (found.keys.length === 0 && found.blockedAt === undefined) throw subjectNotFound(id)
  return found
}

/** What an operator does to a subject, and what the subject is called afterwards. */
export const SUBJECT_VERBS = { block: 'subject_blocked', unblock: 'subject_unblocked' } as const

/**
 * Blocks a subject, or ends the block. All of its devices are rejected with their next call, and it gets no further
 * one. The sessions they hold live on, and their timelines record the block.
 *
 * @throws {OperatorError} where there is no such subject, or it is in that state already
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
      throw new OperatorError(`the subject is ${verb === 'block' ? 'already' : 'not'} blocked`, {
        code: 'conflict',
      })
    yield* recordSubjectChange(tables, id, { at, kind: SUBJECT_VERBS[verb], step: 'operator' })
  })
  return inspectSubject(service, id)
}
