import { currentToken } from '../keys/current-token.ts'
import { PhoneError } from '../errors.ts'
import type { AbortSignalLike } from '../ports.ts'
import { exchange } from '../service/exchange.ts'
import { patiently } from '../service/patience.ts'
import { type ClaimedSession, hasEnded, heard, type Instruments, look } from './claimed.ts'

/** `user_declined`: no. `user_unexpected`: “I did not start this”. */
export type DeclineReason = 'user_declined' | 'user_unexpected'

/**
 * Says no. The session ends for good.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
 */
export async function decline(
  phone: Instruments,
  claimed: ClaimedSession,
  { reason, signal }: { reason: DeclineReason; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const { device, session } = claimed
  const path = `/api/v1/sessions/${session.id}/decline`
  const body = JSON.stringify({ nonce: session.nonce, device_id: device.device_id, reason })
  const token = await currentToken(phone, device)
  let sent = 0
  try {
    const answer = await patiently(
      (tries) => {
        sent = tries
        return exchange(phone, { method: 'POST', path, token, body, signal })
      },
      { ...phone, signal },
    )
    return heard(phone, claimed, { answer, session_id: session.id })
  } catch (error) {
    // The first try may have ended the session; then the second found none that lives.
    if (sent < 2 || !(error instanceof PhoneError) || error.code !== 'refused') throw error
    const now = await look(phone, claimed, { signal })
    if (!hasEnded(now.session.state)) throw error
    return now
  }
}
