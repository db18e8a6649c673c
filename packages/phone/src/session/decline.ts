import { DECLINE_SESSION, hasEnded } from '@bonded/contract'
import { PhoneError } from '../errors.ts'
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

/** How a user says no. */
export interface Declining {
  readonly reason: DeclineReason
  /**
   * Why the user declines, for the backend: with `user_declined`, and for a session of the inbox.
   * One line of at most 200 characters that `isDisplayValue` accepts. A decline never fails for its
   * note: the phone repeats it without one that the service rejects.
   */
  readonly note?: string | undefined
}

/**
 * Declines the session, which ends it.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
 */
export function decline(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  { reason, note, signal }: Declining & { signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const { device, session } = claimed
  const session_id = session.id
  const declined = call(phone, DECLINE_SESSION, {
    parameters: { session_id },
    device,
    body: () => ({ nonce: session.nonce, device_id: device.device_id, reason, note }),
    read: (response) => parseSession(phone, claimed, { response, session_id }),
    // The lost request may have ended the session. The service then rejects the repetition.
    async afterLostResponse() {
      const current = await getSession(phone, claimed, { signal })
      return hasEnded(current.session.state) ? current : undefined
    },
    signal,
  })
  if (note === undefined) return declined
  return declined.catch((failure: unknown) => {
    // An older service does not know the member, and has a smaller limit of the body.
    const isNote = failure instanceof PhoneError && [400, 413].includes(failure.status ?? 0)
    if (isNote) return decline(phone, claimed, { reason, signal })
    throw failure
  })
}
