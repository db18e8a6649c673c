import type { Model } from './linearizability.ts'

/**
 * One session as protocol.md words it, without using the service's code: its states table, section
 * 4, the order of checks, section 5, and what each caller sees, section 3. Times are milliseconds
 * since the session was created.
 */
export interface Modelled {
  readonly now: number
  readonly expiresAt: number
  /** The stored state. A session past its end is expired even while another state is stored. */
  readonly written: State
  readonly seq: number
  readonly hint: string | null
  readonly endedReason: string | null
  readonly pinned: string | null
  /** Whether the pinned phone claimed with the displayed nonce. */
  readonly claimedWithShown: boolean
  readonly validAssertions: number
  readonly bondedBy: string | null
  /** Assertions that did not verify, and the last accepted counter, by phone. */
  readonly failures: Readonly<Record<string, number>>
  readonly counters: Readonly<Record<string, number>>
}

export type State = 'pending' | 'step_up_required' | 'bonded' | 'completed' | 'killed' | 'expired'
/** The displayed nonce, or the n-th step nonce. */
export type NonceName = 'shown' | `step${number}`

export type Call =
  | { readonly do: 'claim'; readonly phone: string; readonly nonce: NonceName }
  | {
      readonly do: 'decline'
      readonly phone: string
      readonly nonce: NonceName
      readonly reason: 'user_declined' | 'user_unexpected'
    }
  | {
      readonly do: 'evidence'
      readonly phone: string
      readonly nonce: NonceName
      readonly counter: number
    }
  | {
      readonly do: 'attest'
      readonly phone: string
      readonly nonce: NonceName
      readonly counter: number
      readonly kind: 'good' | 'weak' | 'forged'
      /** Identifies the body: the same one again is a replay. */
      readonly assertion: string
    }
  | { readonly do: 'complete'; readonly secret: 'right' | 'wrong' }
  | { readonly do: 'kill' }
  | { readonly do: 'cancel' }
  | { readonly do: 'read'; readonly as: 'backend' | 'browser' | 'create' }
  | { readonly do: 'read'; readonly as: 'phone'; readonly phone: string }
  /** The clock reaches a time. */
  | { readonly do: 'wait'; readonly until: number }
  /** The sweeper stores the end of an expired session. */
  | { readonly do: 'sweep' }

/** What a caller learns of the session from a response. A member that a view lacks is absent. */
export interface CallResponse {
  readonly rejected?: string
  readonly state?: State
  readonly seq?: number
  readonly hint?: string | null
  readonly endedReason?: string | null
  readonly proved?: boolean
}

/** The lifetimes of the workflow of these sessions. */
export const SESSION_TTL_MS = 60_000
export const BONDED_TTL_MS = 120_000

export const NEW_SESSION: Modelled = {
  now: 0,
  expiresAt: SESSION_TTL_MS,
  written: 'pending',
  seq: 1,
  hint: 'waiting_for_scan',
  endedReason: null,
  pinned: null,
  claimedWithShown: false,
  validAssertions: 0,
  bondedBy: null,
  failures: {},
  counters: {},
}

export const sessionModel: Model<Modelled, Call, CallResponse> = { apply, accepts }

type Step = readonly [Modelled, CallResponse]

function apply(session: Modelled, call: Call): Step {
  switch (call.do) {
    case 'wait':
      return [{ ...session, now: Math.max(session.now, call.until) }, {}]
    case 'sweep': {
      const due = stateOf(session) === 'expired' && session.written !== 'expired'
      return [due ? moved(session, 'expired') : session, {}]
    }
    case 'claim':
      return claim(session, call)
    case 'decline':
      return decline(session, call)
    case 'evidence':
      return evidence(session, call)
    case 'attest':
      return attest(session, call)
    case 'complete':
      return complete(session, call)
    case 'kill':
      return kill(session)
    case 'cancel':
      return cancel(session)
    case 'read':
      return [session, read(session, call)]
  }
}

/** The response must contain the required members, whatever its view. */
function accepts(due: CallResponse, seen: CallResponse): boolean {
  const members = Object.keys(seen) as (keyof CallResponse)[]
  return members.every((member) => due[member] === seen[member]) && due.rejected === seen.rejected
}

/** Expiry follows from the times, whether or not it is stored. */
function stateOf({ written, now, expiresAt }: Modelled): State {
  const live = written === 'pending' || written === 'step_up_required' || written === 'bonded'
  return live && now >= expiresAt ? 'expired' : written
}

const HINTS: Readonly<Partial<Record<State, string>>> = { step_up_required: 'step_up' }

/** One event and one step of `seq`. */
function moved(session: Modelled, to: State, endedReason: string | null = null): Modelled {
  return { ...session, written: to, seq: session.seq + 1, hint: HINTS[to] ?? null, endedReason }
}

function hinted(session: Modelled, hint: string): Modelled {
  return session.hint === hint ? session : { ...session, hint, seq: session.seq + 1 }
}

function view(session: Modelled): CallResponse {
  return { state: stateOf(session), seq: session.seq }
}

/** Live, nonce, device usable, pinned: in that order, for every call of a phone. */
function rejectionOf(
  session: Modelled,
  { phone, nonce }: { readonly phone: string; readonly nonce: NonceName },
): string | undefined {
  const state = stateOf(session)
  if (state !== 'pending' && state !== 'step_up_required') return 'session_not_live'
  const inForce: NonceName = state === 'pending' ? 'shown' : `step${session.validAssertions}`
  if (nonce !== inForce) return 'challenge_expired'
  if ((session.failures[phone] ?? 0) >= 5) return 'device_not_usable'
  return session.pinned !== null && session.pinned !== phone ? 'session_claimed' : undefined
}

function claim(session: Modelled, call: Call & { do: 'claim' }): Step {
  const rejected = rejectionOf(session, call)
  if (rejected !== undefined) return [session, { rejected }]
  if (session.pinned === call.phone) return [session, view(session)]
  const claimed = {
    ...session,
    pinned: call.phone,
    claimedWithShown: true,
    hint: 'scanned',
    seq: session.seq + 1,
  }
  return [claimed, view(claimed)]
}

function decline(session: Modelled, call: Call & { do: 'decline' }): Step {
  const rejected = rejectionOf(session, call)
  if (rejected !== undefined) return [session, { rejected }]
  const ended = moved(pin(session, call), 'killed', call.reason)
  return [ended, view(ended)]
}

function pin(
  session: Modelled,
  { phone, nonce }: { readonly phone: string; readonly nonce: NonceName },
): Modelled {
  return {
    ...session,
    pinned: phone,
    claimedWithShown: session.claimedWithShown || nonce === 'shown',
  }
}

/** Accepted only when it rises. Evidence and bond share it. */
function raised(
  session: Modelled,
  { phone, counter }: { readonly phone: string; readonly counter: number },
): Modelled | undefined {
  if (counter <= (session.counters[phone] ?? 0)) return undefined
  return { ...session, counters: { ...session.counters, [phone]: counter } }
}

function evidence(session: Modelled, call: Call & { do: 'evidence' }): Step {
  const rejected = rejectionOf(session, call)
  if (rejected !== undefined) return [session, { rejected }]
  const counted = raised(session, call)
  if (counted === undefined) return [session, { rejected: 'assertion_invalid' }]
  return [session.written === 'pending' ? hinted(counted, 'evaluating') : counted, {}]
}

/** A rejected assertion of the phone that holds the session ends its evaluation. */
function attest(session: Modelled, call: Call & { do: 'attest' }): Step {
  const [after, response] = judge(session, call)
  const isReset =
    response.rejected !== undefined &&
    stateOf(after) === 'pending' &&
    after.pinned === call.phone &&
    after.hint === 'evaluating'
  return [isReset ? hinted(after, 'scanned') : after, response]
}

function judge(session: Modelled, call: Call & { do: 'attest' }): Step {
  const state = stateOf(session)
  if ((state === 'bonded' || state === 'completed') && session.bondedBy === call.assertion)
    return [session, view(session)]
  const rejected = rejectionOf(session, call)
  if (rejected !== undefined) return [session, { rejected }]
  if (call.kind === 'forged')
    return [miscounted(session, call.phone), { rejected: 'assertion_invalid' }]
  const counted = raised(session, call)
  if (counted === undefined) return [session, { rejected: 'assertion_invalid' }]

  const valid = { ...pin(counted, call), validAssertions: session.validAssertions + 1 }
  if (call.kind === 'good') {
    const expiresAt = Math.max(session.expiresAt, session.now + BONDED_TTL_MS)
    const bonded = moved({ ...valid, bondedBy: call.assertion, expiresAt }, 'bonded')
    return [bonded, view(bonded)]
  }
  if (valid.validAssertions === 3)
    return [moved(valid, 'killed', 'policy_not_met'), { rejected: 'policy_not_met' }]
  const stepped = state === 'pending' ? moved(valid, 'step_up_required') : valid
  return [stepped, view(stepped)]
}

function miscounted(session: Modelled, phone: string): Modelled {
  const failures = { ...session.failures, [phone]: (session.failures[phone] ?? 0) + 1 }
  const ended = failures[phone] === 5 && session.pinned === phone
  return ended
    ? moved({ ...session, failures }, 'killed', 'too_many_attempts')
    : { ...session, failures }
}

function complete(session: Modelled, { secret }: Call & { do: 'complete' }): Step {
  const state = stateOf(session)
  if (state === 'expired') return [session, { rejected: 'session_not_found' }]
  if (secret === 'wrong') return [session, { rejected: 'completion_secret_mismatch' }]
  if (state === 'completed') return [session, {}]
  return state === 'bonded'
    ? [moved(session, 'completed'), {}]
    : [session, { rejected: 'session_not_bonded' }]
}

function kill(session: Modelled): Step {
  const state = stateOf(session)
  if (state === 'expired') return [session, { rejected: 'session_not_found' }]
  const hasEnded = state === 'completed' || state === 'killed'
  return [hasEnded ? session : moved(session, 'killed', 'killed_by_tenant'), {}]
}

/** Only while a phone can answer. The response is the session as it is afterwards. */
function cancel(session: Modelled): Step {
  const state = stateOf(session)
  const isWaiting = state === 'pending' || state === 'step_up_required'
  const after = isWaiting ? moved(session, 'killed', 'canceled') : session
  return [after, read(after, { do: 'read', as: 'browser' })]
}

function read(session: Modelled, call: Call & { do: 'read' }): CallResponse {
  const state = stateOf(session)
  if (call.as === 'phone')
    return seesSession(session, call.phone) ? view(session) : { rejected: 'session_not_found' }
  const endedReason = state === 'killed' ? session.endedReason : null
  return {
    ...view(session),
    hint: state === 'expired' ? null : session.hint,
    endedReason: call.as === 'browser' ? forBrowser(endedReason) : endedReason,
    proved: call.as !== 'browser' && (state === 'bonded' || state === 'completed'),
  }
}

/**
 * A phone with the displayed nonce: any phone while it is accepted, then only the one that claimed
 * with it.
 */
function seesSession(session: Modelled, phone: string): boolean {
  if (session.pinned !== null) return session.pinned === phone && session.claimedWithShown
  return stateOf(session) === 'pending'
}

function forBrowser(reason: string | null): string | null {
  if (reason === 'policy_not_met' || reason === 'too_many_attempts') return 'not_verified'
  return reason === 'killed_by_tenant' ? 'killed' : reason
}
