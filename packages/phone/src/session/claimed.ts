import type { Handoff, PhoneSession, SessionState } from '@bonded/contract'
import type { PhoneDevice, Registrar } from '../device.ts'
import { currentToken } from '../keys/current-token.ts'
import { PhoneError } from '../errors.ts'
import type { AbortSignalLike, Sha256, WebSocketConstructor } from '../ports.ts'
import { type ServerTime, syncTo } from '../server-time.ts'
import { exchange } from '../service/exchange.ts'
import { patiently } from '../service/patience.ts'
import { readSession } from '../service/read-answer.ts'

/** All that the steps of a session work with. */
export interface Instruments extends Registrar {
  readonly sha256: Sha256
  /** Without one, completion is waited for by polling. */
  readonly WebSocket?: WebSocketConstructor | undefined
}

/** A session that this phone has taken, as last heard of. Each step returns a new one. */
export interface ClaimedSession {
  readonly device: PhoneDevice
  /** The nonce of the code that was scanned: it opens the phone view for as long as the session can be read. */
  readonly claimed_nonce: string
  readonly session: PhoneSession
  readonly server_time: ServerTime
}

/** Whether a phone can still answer. */
export function awaitsPhone(state: SessionState): boolean {
  return state === 'pending' || state === 'step_up_required'
}

/** Whether nothing more can happen. */
export function hasEnded(state: SessionState): boolean {
  return state === 'completed' || state === 'killed' || state === 'expired'
}

/**
 * Takes a session for this phone. Safe to repeat.
 *
 * @throws {PhoneError} `refused` (`challenge_expired`, `session_claimed`, `nonce_mismatch`, `session_not_live`,
 * `device_not_usable`), `origin_not_usable`, `unreachable`, `answer_unreadable`, `cancelled`
 */
export async function claim(
  phone: Instruments,
  device: PhoneDevice,
  {
    handoff,
    signal,
  }: { handoff: Pick<Handoff, 'session_id' | 'nonce'>; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const { session_id, nonce } = handoff
  const path = `/api/v1/sessions/${session_id}/claim`
  const body = JSON.stringify({ nonce, device_id: device.device_id })
  const answer = await patiently(
    async () =>
      exchange(phone, {
        method: 'POST',
        path,
        token: await currentToken(phone, device),
        body,
        signal,
      }),
    { ...phone, signal },
  )
  return heard(phone, { device, claimed_nonce: nonce }, { answer, session_id })
}

/**
 * Takes over an answered phone view.
 *
 * The origin is checked because the signature covers it: a service that speaks for another one could otherwise
 * have this phone sign what bonds a session there.
 *
 * @throws {PhoneError} `answer_unreadable`, `origin_not_usable`
 */
export function heard(
  phone: Pick<Instruments, 'origin' | 'clock'>,
  own: Pick<ClaimedSession, 'device' | 'claimed_nonce'>,
  { answer, session_id }: { answer: unknown; session_id: string },
): ClaimedSession {
  const session = readSession(answer)
  if (session.id !== session_id) throw new PhoneError('answer_unreadable', { reason: 'id' })
  if (session.api_base_url !== phone.origin)
    throw new PhoneError('origin_not_usable', { reason: 'api_base_url' })
  if (session.state === 'pending' && session.nonce !== own.claimed_nonce)
    throw new PhoneError('answer_unreadable', { reason: 'nonce' })
  return {
    device: own.device,
    claimed_nonce: own.claimed_nonce,
    session,
    server_time: syncTo(session.server_time, phone.clock),
  }
}

/**
 * Asks how a claimed session stands.
 *
 * @param wait_ms with `after` of the last known `seq`: hold the answer until something changes, at most this long
 * @throws {PhoneError} `refused` (`session_not_found`), `unreachable`, `answer_unreadable`, `cancelled`
 */
export async function look(
  phone: Instruments,
  claimed: ClaimedSession,
  { wait_ms, signal }: { wait_ms?: number; signal?: AbortSignalLike | undefined } = {},
): Promise<ClaimedSession> {
  const { device, claimed_nonce, session } = claimed
  const waiting = wait_ms === undefined ? '' : `&wait_ms=${wait_ms}&after=${session.seq}`
  const path = `/api/v1/sessions/${session.id}?nonce=${claimed_nonce}${waiting}`
  const answer = await patiently(
    async () =>
      exchange(phone, { method: 'GET', path, token: await currentToken(phone, device), signal }),
    { ...phone, signal },
  )
  return heard(phone, claimed, { answer, session_id: session.id })
}
