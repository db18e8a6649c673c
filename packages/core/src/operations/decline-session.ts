import type { DeclineRequest, SessionId } from '@bonded/contract'
import { accept, type Result, reject } from '../domain/rejection.ts'
import { runChecks } from '../protocol/run-checks.ts'
import { MOVES } from '../protocol/states.ts'
import type { PhoneReading } from './read-session.ts'
import { loadAndExpireAttempt, rejectAndRecord } from './phone-attempt.ts'
import type { PhoneCaller, Service } from './service.ts'

export interface DeclineInput {
  readonly id: SessionId | undefined
  readonly request: DeclineRequest
}

/** Ends the session, because the user declined or did not start the request. */
export async function declineSession(
  service: Service,
  caller: PhoneCaller,
  { id, request }: DeclineInput,
): Promise<Result<PhoneReading>> {
  const { device } = caller
  const { nonce, reason } = request
  const move = reason === 'user_unexpected' ? MOVES.declineUnexpected : MOVES.decline
  if (device.id !== request.device_id) return reject('device_not_usable', { param: 'device_id' })
  if (id === undefined) return reject('session_not_live')

  return service.store.write(function* (tables) {
    for (;;) {
      const attempt = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
      if (attempt === undefined) return reject('session_not_live')
      const failed = yield* runChecks('decline', attempt)
      if (failed !== undefined) return yield* rejectAndRecord(tables, attempt, failed.rejection)
      const ended = yield* tables.sessions.move(attempt.session, move, {
        now: attempt.now,
        set: { deviceId: device.id, nonce },
      })
      if (ended !== undefined) return accept({ session: ended, tenant: attempt.tenant, nonce })
    }
  })
}
