import type { SessionId } from '@bonded/contract'
import { DEVICE_MOVES } from '../../domain/device-moves.ts'
import type { Tables } from '../../ports/store.ts'
import type { Part, SearchedTable, SubjectScope } from '../../ports/tables/subject-data-table.ts'
import type { Work } from '../../ports/work.ts'
import { mayMove, MOVES } from '../../protocol/states.ts'
import { appendWaiting } from '../receipt/receipt-log.ts'
import type { Service } from '../service.ts'
import { inParts, scopeOf } from './subject-scope.ts'
import type { NamedSubject } from './subjects.ts'

/** What an erasure has deleted. It names no user. */
export interface ErasedSubject {
  /** Whether the subject and its devices are erased, not only what one tenant had of them. */
  readonly isWhole: boolean
  readonly devices: number
  /** Running sessions that were killed and emptied. Their rows are deleted by the retention. */
  readonly endedSessions: number
  readonly sessions: number
  readonly receipts: number
  readonly rejections: number
  readonly deliveries: number
}

/**
 * Deletes everything of a subject, or everything that one tenant has of it, in many short
 * transactions. The rows that find all others are deleted last, so an erasure that was interrupted
 * is completed by repeating it.
 *
 * Receipts are in the log before they are deleted: the log shows that they existed, and a proof
 * that was handed out is still valid.
 *
 * @throws {OperatorError} if the store has nothing of the subject
 */
export async function eraseSubject(service: Service, named: NamedSubject): Promise<ErasedSubject> {
  const scope = await scopeOf(service, named)
  // The audit log records this unit.
  await service.store.write((tables) => withdraw(service, tables, scope))
  const rest: Service = { ...service, store: service.unrecordedStore ?? service.store }
  const erase = async (table: SearchedTable) =>
    sum(await inParts(rest, table, (tables, part) => tables.subjectData.delete(table, scope, part)))
  const deliveries = await erase('webhook_delivery')
  // Before their sessions, which are deleted with theirs, and again for those of the meantime.
  const rejections = await erase('rejection')
  const ofParts = await inParts(rest, 'session', (tables, part) =>
    eraseSessions(service, tables, { scope, part }),
  )
  await erase('session_device')
  await appendWaiting(rest)
  const receipts = await erase('receipt')
  const laterRejections = await erase('rejection')
  const isWhole = scope.tenantId === undefined
  await rest.store.write(({ subjectData }) => subjectData.deleteSubject(scope))
  return {
    isWhole,
    devices: isWhole ? scope.deviceIds.length : 0,
    endedSessions: sum(ofParts.map(({ ended }) => ended)),
    sessions: sum(ofParts.map(({ deleted }) => deleted)),
    receipts,
    rejections: rejections + laterRejections,
    deliveries,
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0)
}

/** Rejects every further call of the devices, or every further bond with the tenant. */
function* withdraw(
  { clock }: Service,
  { devices, subjects }: Tables,
  { subjectId, tenantId, deviceIds, references }: SubjectScope,
): Work<void> {
  const now = clock.now()
  for (const reference of references) yield* subjects.blockAt({ ...reference, subjectId }, now)
  if (tenantId !== undefined) return
  yield* subjects.block(subjectId, now)
  for (const id of deviceIds) yield* devices.move(id, DEVICE_MOVES.remove)
}

/** Kills and empties the sessions that run, and deletes those that have ended. */
function* eraseSessions(
  { clock }: Service,
  { sessions, subjectData }: Tables,
  { scope, part }: { readonly scope: SubjectScope; readonly part: Part },
): Work<{ readonly ended: number; readonly deleted: number }> {
  let ended = 0
  let deleted = 0
  for (const { id } of yield* subjectData.rows('session', scope, part))
    for (;;) {
      const session = yield* sessions.find(id as SessionId)
      if (session === undefined) break
      if (session.endedAt !== null) {
        yield* subjectData.deleteSession(session)
        deleted += 1
        break
      }
      const now = clock.now()
      const move = mayMove(session, MOVES.killByOperator, now) ? MOVES.killByOperator : MOVES.expire
      // Undefined if a call moved the session meanwhile. The next pass reads it again.
      if ((yield* sessions.move(session, move, { now, empties: true })) === undefined) continue
      ended += 1
      break
    }
  return { ended, deleted }
}
