import { DECLINE_SESSION, hasEnded } from '@bonded/contract'
import type { AbortSignalLike } from '../ports.ts'
import { call } from '../service/call.ts'
import {
  type ClaimedSession,
  getSession,
  parseSession,
  type PhoneDependencies,
} from './claimed-session.ts'

/** `user_declined`: the user declined. `user_unexpected`: the user did not start this request. */
export type DeclineReason = 'user_declined' | 'user_unexpected'

/**
 * Declines the session, which ends it.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
 */
export function decline(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  { reason, signal }: { reason: DeclineReason; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const { device, session } = claimed
  const session_id = session.id
  return call(phone, DECLINE_SESSION, {
    parameters: { session_id },
    device,
    body: () => ({ nonce: session.nonce, device_id: device.device_id, reason }),
    read: (response) => parseSession(phone, claimed, { response, session_id }),
    // The lost request may have ended the session. The service then rejects the repetition.
    async afterLostResponse() {
      const current = await getSession(phone, claimed, { signal })
      return hasEnded(current.session.state) ? current : undefined
    },
    signal,
  })
}
