import {
  type BrowserKeyRegistration,
  canonicalJson,
  type ClaimRequest,
  CLAIM_SESSION,
  DIRECTIONAL_MARKS,
  GET_SESSION,
  type Handoff,
  type PhoneSession,
  QUORUM,
  TEXT_AND_REQUESTER,
  wordsToShow,
  type WebSocketConstructor,
} from '@bonded/contract'
import type { PhoneDevice, RegistrationDependencies } from '../device.ts'
import { isRejection, PhoneError } from '../errors.ts'
import type { AbortSignalLike, CreateBrowserKey, Sha256 } from '../ports.ts'
import { type ServerTime, syncTo } from '../server-time.ts'
import { call } from '../service/call.ts'
import { readSession } from '../service/read-response.ts'

/** The dependencies of the steps of a session. */
export interface PhoneDependencies extends RegistrationDependencies {
  readonly sha256: Sha256
  /** Opens a socket. Without it, the phone polls for the completion. */
  readonly WebSocket?: WebSocketConstructor | undefined
  /** The browser's keys. Without it, the phone cannot approve requests that need a browser key. */
  readonly createBrowserKey?: CreateBrowserKey | undefined
  /**
   * True: the app draws each label and value in an isolate of its own, such as `<bdi>`, so that the
   * directional marks of Hebrew and Arabic amounts reorder nothing beside them. Without it, the
   * phone cannot approve requests that have such marks.
   */
  readonly isolatesValues?: true | undefined
  /**
   * True: the app draws the requester first and the text in full, and approves only after the user
   * has seen its end. Without it, the phone cannot approve requests that have either.
   */
  readonly showsText?: true | undefined
  /**
   * True: the app draws `quorum` before the user decides. Without it, the phone cannot approve the
   * requests of a quorum.
   */
  readonly showsQuorum?: true | undefined
}

/** A session that this phone has claimed, as last received. Each step returns a new one. */
export interface ClaimedSession {
  readonly device: PhoneDevice
  /**
   * The nonce of the scanned QR code. It authorizes the phone view while the session can be read.
   */
  readonly claimed_nonce: string
  readonly session: PhoneSession
  readonly server_time: ServerTime
  /** The approval registers a browser key: one that is still to be created, or that exists. */
  readonly browser_key?: 'wanted' | BrowserKeyRegistration | undefined
}

/** What the user decides on, and the phone signs. */
const DECIDED_ON = ['tenant_id', 'workflow', 'action', 'context'] as const

/** Rejections of a claim that may be a repetition, after a restart of the phone's app or page. */
const AFTER_CLAIM = ['challenge_expired', 'session_not_live'] as const

/**
 * Claims a session for this phone. Safe to repeat: a session that this phone holds is returned in
 * its current state, whether it waits for a step-up, is bonded, or has ended.
 *
 * @throws {PhoneError} `refused` (`challenge_expired`, `session_claimed`, `nonce_mismatch`,
 * `session_not_live`, `device_not_usable`, `browser_key_required`, `text_not_shown`),
 * `origin_not_usable`,
 * `unreachable`, `answer_unreadable`, `cancelled`
 */
export async function claim(
  phone: PhoneDependencies,
  device: PhoneDevice,
  {
    handoff,
    signal,
  }: { handoff: Pick<Handoff, 'session_id' | 'nonce'>; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const { session_id, nonce } = handoff
  const { device_id } = device
  const parameters = { session_id }
  const own = { device, claimed_nonce: nonce }
  const read = (response: unknown) => parseSession(phone, own, { response, session_id })
  const send = (offered: Offered): Promise<ClaimedSession> =>
    call(phone, CLAIM_SESSION, {
      parameters,
      device,
      body: () => ({ nonce, device_id, ...offered }),
      read,
      signal,
    }).then(
      (claimed) =>
        offered.browser_key === true ? { ...claimed, browser_key: 'wanted' as const } : claimed,
      (rejection: unknown) => {
        const more = wantedBy(rejection, phone, offered)
        if (more === undefined) throw rejection
        return send({ ...offered, ...more })
      },
    )
  try {
    return await send({})
  } catch (rejection) {
    if (!AFTER_CLAIM.some((reason) => isRejection(rejection, reason))) throw rejection
    const found = await call(phone, GET_SESSION, {
      parameters,
      query: { nonce },
      device,
      read,
      signal,
    }).catch(() => undefined)
    // Only the phone that holds the session receives its watch token.
    if (found?.session.watch_token === undefined) throw rejection
    return found
  }
}

/** What a claim says that the phone can do. Older services know neither member. */
type Offered = Pick<ClaimRequest, 'browser_key' | 'shows'>

/** What the service wants of this phone, where it can do that and the claim has not said so. */
function wantedBy(
  rejection: unknown,
  phone: Pick<PhoneDependencies, 'createBrowserKey'> & Showing,
  { browser_key, shows }: Offered,
): Offered | undefined {
  if (isRejection(rejection, 'browser_key_required'))
    return phone.createBrowserKey && browser_key === undefined ? { browser_key: true } : undefined
  if (!isRejection(rejection, 'text_not_shown')) return undefined
  const words = wordsShownBy(phone)
  return words.length > 0 && shows === undefined ? { shows: words } : undefined
}

type Showing = Pick<PhoneDependencies, 'isolatesValues' | 'showsText' | 'showsQuorum'>

/** The words of `shows` that this phone may say. */
export function wordsShownBy({ isolatesValues, showsText, showsQuorum }: Showing): string[] {
  return [
    ...(isolatesValues ? [DIRECTIONAL_MARKS] : []),
    ...(showsText ? TEXT_AND_REQUESTER : []),
    ...(showsQuorum ? [QUORUM] : []),
  ]
}

/**
 * Parses a phone view.
 *
 * The signature covers the origin. A service that presents a session of another origin could
 * otherwise have this phone sign an assertion that bonds the session there. It also covers the
 * context: one that the phone cannot show, or another than the user saw, is not signed.
 *
 * @throws {PhoneError} `answer_unreadable`, `origin_not_usable`
 */
export function parseSession(
  phone: Pick<PhoneDependencies, 'origin' | 'clock'> & Showing,
  own: Pick<ClaimedSession, 'device' | 'claimed_nonce' | 'browser_key'> &
    Partial<Pick<ClaimedSession, 'session'>>,
  { response, session_id }: { response: unknown; session_id: string },
): ClaimedSession {
  const session = readSession(response)
  if (session.id !== session_id) throw new PhoneError('answer_unreadable', { reason: 'id' })
  if (session.api_base_url !== phone.origin)
    throw new PhoneError('origin_not_usable', { reason: 'api_base_url' })
  if (session.state === 'pending' && session.nonce !== own.claimed_nonce)
    throw new PhoneError('answer_unreadable', { reason: 'nonce' })
  const shown = wordsShownBy(phone)
  if (!wordsToShow(session.context).every((word) => shown.includes(word)))
    throw new PhoneError('answer_unreadable', { reason: 'context' })
  const before = own.session
  const changed = DECIDED_ON.find(
    (name) => before && canonicalJson(session[name]) !== canonicalJson(before[name]),
  )
  if (changed !== undefined) throw new PhoneError('answer_unreadable', { reason: changed })
  return {
    device: own.device,
    claimed_nonce: own.claimed_nonce,
    ...(own.browser_key !== undefined && { browser_key: own.browser_key }),
    session,
    server_time: syncTo(session.server_time, phone.clock),
  }
}

/**
 * Reads a claimed session.
 *
 * @param wait_ms the service waits up to so long for a change after the last known `seq`
 * @throws {PhoneError} `refused` (`session_not_found`), `unreachable`, `answer_unreadable`,
 * `cancelled`
 */
export function getSession(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  { wait_ms, signal }: { wait_ms?: number; signal?: AbortSignalLike | undefined } = {},
): Promise<ClaimedSession> {
  const { device, claimed_nonce, session } = claimed
  const session_id = session.id
  const after = wait_ms === undefined ? undefined : session.seq
  return call(phone, GET_SESSION, {
    parameters: { session_id },
    query: { nonce: claimed_nonce, wait_ms, after },
    device,
    read: (response) => parseSession(phone, claimed, { response, session_id }),
    signal,
  })
}
