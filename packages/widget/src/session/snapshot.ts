import {
  COMPLETION_OUTCOMES,
  type CompletionOutcome,
  type Members,
  NO_MEMBERS,
  ownMembers,
  PUBLIC_ENDED_REASONS,
  type PublicEndedReason,
  SESSION_HINTS,
  SESSION_STATES,
  type SessionHint,
  type SessionState,
  WATCH_PARAMETER,
} from '@bonded/contract'
import { parseUrl } from '../parse-url.ts'

/** A point of `performance.now()`, in milliseconds. The wall clock of a PC can be anything. */
export type Instant = number

/** The QR code to show, and until when. */
export interface Code {
  readonly payload: string
  readonly link: string
  readonly rotatesAt: Instant
  /** The service accepts it until then. An expired code must not be shown. */
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

/** A session as the service last described it. */
export interface Snapshot {
  readonly seq: number
  readonly state: SessionState
  readonly hint: SessionHint | null
  /** When the page first saw the hint of this `seq`. */
  readonly hintedAt: Instant
  readonly endedReason: PublicEndedReason | null
  /**
   * What the backend said in its report, of a session that has one. A report without an outcome
   * means success: a backend reports after its action has succeeded (protocol 4).
   */
  readonly outcome: CompletionOutcome
  /**
   * Null once the session has bonded, until the backend reports. If it expires then, the backend
   * can have acted, so the page does not ask the user to start again.
   */
  readonly reportedAt: unknown
  /** The commitment of the browser that has proved itself, while one has. */
  readonly provedBy: unknown
  readonly expiresAt: Instant
  readonly code: Code | null
  /** The interval of the channel's heartbeat frames, in milliseconds; only its `hello` names it. */
  readonly heartbeatMs: number | null
  /** The request as its record describes it; null in a frame that does not repeat it. */
  readonly tenant: Tenant | null
}

/** Longer than any session lasts. */
const LONGEST_SESSION_MS = 900_000

/** A session of which only the address is known. */
export function unseen(now: Instant): Snapshot {
  return readSnapshot({ seq: 0, state: 'pending', expires_in_ms: LONGEST_SESSION_MS }, now)!
}

/** The tenant as its record describes it. */
export interface Tenant {
  readonly name: string
  /** An address, or null. */
  readonly logo: string | null
}

/**
 * The members of a session as a backend gives it to its page: on their own, or as the member
 * `session`.
 */
export function sessionIn(response: Members): Members {
  return ownMembers(response['session']) ?? response
}

/**
 * How to watch the session that a backend or the service returned; undefined if it lacks members.
 * The watch token is a member, or a parameter of the channel's address, which the address that is
 * used does not have: an address appears in logs.
 */
export function readAddress(view: unknown): SessionAddress | undefined {
  const {
    id,
    api_base_url: apiBaseUrl,
    websocket_url: websocketUrl,
    watch_token: given,
    tenant_id: tenantId,
  } = ownMembers(view) ?? NO_MEMBERS
  if (typeof id !== 'string' || !isWebAddress(apiBaseUrl) || !isSocketAddress(websocketUrl))
    return undefined
  const channel = new URL(websocketUrl)
  const watchToken = given ?? channel.searchParams.get(WATCH_PARAMETER)
  if (typeof watchToken !== 'string') return undefined
  channel.search = ''
  return {
    id,
    apiBaseUrl,
    websocketUrl: channel.href,
    watchToken,
    tenantId: typeof tenantId === 'string' ? tenantId : null,
  }
}

/**
 * The snapshot in a view or in a frame with its data; undefined for anything that this version
 * cannot read, such as an unknown state. The widget then fails closed.
 */
export function readSnapshot(view: unknown, now: Instant): Snapshot | undefined {
  const members = ownMembers(view)
  if (members === undefined) return undefined
  const { seq, state, hint, ended_reason: endedReason, expires_in_ms: expiresInMs } = members
  const { heartbeat_ms: heartbeatMs, outcome, browser_commitment: provedBy } = members
  if (!isCount(seq) || !isCount(expiresInMs) || !isWord(SESSION_STATES, state)) return undefined
  return {
    seq,
    state,
    // These lists are open (protocol 11): an unknown word counts as none.
    hint: isWord(SESSION_HINTS, hint) ? hint : null,
    hintedAt: now,
    endedReason: isWord(PUBLIC_ENDED_REASONS, endedReason) ? endedReason : null,
    outcome: outcomeIn(outcome ?? 'accepted'),
    // A frame does not say it.
    reportedAt: members['reported_at'],
    provedBy,
    expiresAt: now + expiresInMs,
    code: readCode(members, now),
    tenant: readTenant(members),
    heartbeatMs: isCount(heartbeatMs) ? heartbeatMs : null,
  }
}

function readTenant({
  tenant_name: name,
  tenant_logo_url: logo,
  api_base_url: base,
}: Members): Tenant | null {
  if (typeof name !== 'string' || !isWebAddress(base)) return null
  return { name, logo: typeof logo === 'string' ? new URL(logo, base).href : null }
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

/**
 * Whether a text is an http or https address. Only such an address may become a link or be fetched.
 */
export function isWebAddress(value: unknown): value is string {
  return isAddress(value, /^https?:/)
}

function isSocketAddress(value: unknown): value is string {
  return isAddress(value, /^wss?:/)
}

function isAddress(value: unknown, scheme: RegExp): value is string {
  return scheme.test(String(parseUrl(value)?.protocol))
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isWord<W extends string>(words: readonly W[], value: unknown): value is W {
  return (words as readonly unknown[]).includes(value)
}

/** An outcome that a newer service may add claims no success. */
function outcomeIn(outcome: unknown): CompletionOutcome {
  return isWord(COMPLETION_OUTCOMES, outcome) ? outcome : 'in_review'
}
