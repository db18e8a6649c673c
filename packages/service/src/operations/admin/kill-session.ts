import type { SessionId } from '@bonded/contract'
import { mayMove, type Session, stateAt } from '../../domain/session.ts'
import { MOVES } from '../../domain/transitions.ts'
import { OperatorError } from './tenants.ts'
import type { Service } from '../service.ts'

/** Ends a live session of any tenant. Killing a killed one again is fine, as it is for its tenant. */
export async function killSessionAsOperator(service: Service, id: SessionId): Promise<Session> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    for (;;) {
      const session = yield* tables.sessions.find(id)
      if (session === undefined) throw new OperatorError('there is no such session')
      const state = stateAt(session, now)
      if (state === MOVES.killByOperator.to) return session
      if (!mayMove(session, MOVES.killByOperator, now))
        throw new OperatorError(`the session is ${state}: there is nothing left to end`)
      const killed = yield* tables.sessions.move(session, MOVES.killByOperator, { now })
      if (killed !== undefined) return killed
    }
  })
}
