import { type Members, ownMembers } from './members.ts'
import type { PublicEndedReason, SessionHint, SessionState } from '@bonded/contract'

/** A point of `performance.now()`, in milliseconds. The wall clock of a PC can be anything. */
export type Instant = number

/** The code to show, and how long. */
export interface Code {
  readonly payload: string
  readonly link: string
  readonly rotatesAt: Instant
  /** Accepted until then. A code past it must not be shown. */
  readonly expiresAt: Instant
}

/** Where a session is watched, and what is shown for it. */
export interface SessionAddress {
  readonly id: string
  readonly apiBaseUrl: string
  readonly websocketUrl: string
  readonly watchToken: string
  /** Null where the backend left it out: it serves to explain a rejection only. */
  readonly tenantId: string | null
}

/** What was last heard of a session. */
export interface Standing {
  readonly seq: number
  readonly state: SessionState
  readonly hint: SessionHint | null
  readonly endedReason: PublicEndedReason | null
  readonly expiresAt: Instant
  readonly code: Code | null
}

/** What a value that is no object has. */
const NONE: Members = Object.freeze(Object.create(null))

const STATES: readonly SessionState[] = [
  'pending',
  'bonded',
  'step_up_required',
  'completed',
  'killed',
  'expired',
] satisfies SessionState[]
const HINTS: readonly unknown[] = [
  'waiting_for_scan',
  'scanned',
  'evaluating',
  'step_up',
] satisfies SessionHint[]
const REASONS: readonly unknown[] = [
  'user_declined',
  'user_unexpected',
  'not_verified',
  'killed',
] satisfies PublicEndedReason[]

/** How to watch the session that a backend or the service returned; undefined if it lacks members. */
export function readAddress(view: unknown): SessionAddress | undefined {
  const {
    id,
    api_base_url: apiBaseUrl,
    websocket_url: websocketUrl,
    watch_token: watchToken,
    tenant_id: tenantId,
  } = ownMembers(view) ?? NONE
  if (
    typeof id !== 'string' ||
    typeof watchToken !== 'string' ||
    !isWebAddress(apiBaseUrl) ||
    !isSocketAddress(websocketUrl)
  )
    return undefined
  return {
    id,
    apiBaseUrl,
    websocketUrl,
    watchToken,
    tenantId: typeof tenantId === 'string' ? tenantId : null,
  }
}

/**
 * Where a session stands, from a view or from a frame with its data; undefined for anything this version
 * cannot read, above all for a state it does not know: then the widget fails closed.
 */
export function readStanding(view: unknown, now: Instant): Standing | undefined {
  const members = ownMembers(view)
  if (members === undefined) return undefined
  const { seq, state, hint, ended_reason: endedReason, expires_in_ms: expiresInMs } = members
  if (!isCount(seq) || !isCount(expiresInMs) || !STATES.includes(state as SessionState))
    return undefined
  return {
    seq,
    state: state as SessionState,
    // Open lists (protocol 11): a word we do not know is as good as none.
    hint: HINTS.includes(hint) ? (hint as SessionHint) : null,
    endedReason: REASONS.includes(endedReason) ? (endedReason as PublicEndedReason) : null,
    expiresAt: now + expiresInMs,
    code: readCode(members, now),
  }
}

function readCode(view: Members, now: Instant): Code | null {
  const {
    qr_payload: appLink,
    universal_link: link,
    qr_content: content,
    challenge_rotates_in_ms: rotatesInMs,
    challenge_expires_in_ms: expiresInMs,
  } = view
  if (
    typeof appLink !== 'string' ||
    !isWebAddress(link) ||
    !isCount(rotatesInMs) ||
    !isCount(expiresInMs)
  )
    return null
  // An open list (protocol 11): the app's link is what every service sends.
  const payload = content === 'universal_link' ? link : appLink
  return { payload, link, rotatesAt: now + rotatesInMs, expiresAt: now + expiresInMs }
}

/** Whether a text is an http or https address: nothing else may become the target of a link or a fetch. */
export function isWebAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
}

function isSocketAddress(value: unknown): value is string {
  return typeof value === 'string' && /^wss?:\/\//i.test(value) && URL.canParse(value)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
