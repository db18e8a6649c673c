import type { SessionId } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import { hasMoved, isStoredFor, MOVES } from '../../protocol/states.ts'
import { expireIfOverdue } from '../session/find-and-expire.ts'
import type { Service } from '../service.ts'
import { OperatorError, sessionNotFound } from './operator-error.ts'

/**
 * Kills a live session of any tenant. Killing a killed session again changes nothing.
 *
 * @throws {OperatorError} where the session does not exist, or has ended otherwise
 */
export async function killSessionAsOperator(service: Service, id: SessionId): Promise<Session> {
  const session = await service.store.write(function* (tables) {
    for (;;) {
      const stored = yield* tables.sessions.find(id)
      const session = stored && (yield* expireIfOverdue(service, tables, stored))
      // As stored: if the session's time ends after this read, the move has no effect, and the next
      // pass stores the end.
      if (session === undefined) throw sessionNotFound(id)
      if (!isStoredFor(session, MOVES.killByOperator)) {
        if (session === stored && !hasMoved(session, MOVES.killByOperator)) throw hasEnded(session)
        return session
      }
      // After the wait for the row, which another node may have locked: time has passed.
      const now = service.clock.now()
      const killed = yield* tables.sessions.move(session, MOVES.killByOperator, { now })
      if (killed !== undefined) return killed
    }
  })
  if (!hasMoved(session, MOVES.killByOperator)) throw hasEnded(session)
  return session
}

function hasEnded({ state }: Session): OperatorError {
  return new OperatorError(`The session has already ended: it is ${state}`, { code: 'conflict' })
}
