import { type Handoff, type Invitation, READ_INVITATION, NONCE_HEADER } from '@bonded/contract'
import type { AbortSignalLike } from '../ports.ts'
import { call, type CallDependencies } from '../service/call.ts'
import { readInvited } from '../service/read-response.ts'

/**
 * Reads who requests approval, and which key a phone without one needs. It claims nothing.
 *
 * @throws {PhoneError} `refused` (`session_not_found`: scan the current QR code), `unreachable`,
 * `answer_unreadable`, `cancelled`
 */
export function readInvitation(
  phone: CallDependencies,
  {
    handoff: { session_id, nonce },
    signal,
  }: { handoff: Pick<Handoff, 'session_id' | 'nonce'>; signal?: AbortSignalLike | undefined },
): Promise<Invitation> {
  return call(phone, READ_INVITATION, {
    parameters: { session_id },
    // Not in the query, because proxies log those.
    headers: { [NONCE_HEADER]: nonce },
    read: readInvited,
    signal,
  })
}
