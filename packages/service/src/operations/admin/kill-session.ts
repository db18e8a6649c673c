import type { SessionId } from '@bonded/contract'
import { mayMove, type Session, stateAt } from '../../domain/session.ts'
import { MOVES } from '../../domain/transitions.ts'
import { OperatorError, sessionNotFound } from './operator-error.ts'
import type { Service } from '../service.ts'

/**
 * Kills a live session of any tenant. Killing a killed session again changes nothing.
 *
 * @throws {OperatorError} where the session does not exist, or has ended otherwise
 */
export async function killSessionAsOperator(service: Service, id: SessionId): Promise<Session> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    for (;;) {
      const session = yield* tables.sessions.find(id)
      if (session === undefined) throw sessionNotFound(id)
      const state = stateAt(session, now)
      if (state === MOVES.killByOperator.to) return session
      if (!mayMove(session, MOVES.killByOperator, now))
        throw new OperatorError(`the session has already ended: it is ${state}`, {
          code: 'conflict',
        })
      const killed = yield* tables.sessions.move(session, MOVES.killByOperator, { now })
      if (killed !== undefined) return killed
    }
  })
}
