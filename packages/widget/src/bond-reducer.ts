import { hasEnded } from '@bonded/contract'
import type { Containment } from './container/containment.ts'
import { UNAVAILABLE_SCREENS } from './ended-screens.ts'
import type { ProofReport } from './browser-proof/report.ts'
import type { Moment, Mutable, Reaction } from './reducer.ts'
import { type BondOutcome, unavailable, type UnavailableReason } from './outcome.ts'
import { plain, type Screen, screenOf } from './screen.ts'
import type { Found, FoundSession } from './session/find.ts'
import type { Instant, SessionAddress, Snapshot, Tenant } from './session/snapshot.ts'

/** How often the widget draws the countdown. */
const TICK_MS = 1_000
/** The form of 32 bytes in base64url. */
const SECRET_LENGTH = 43
/**
 * Longer than any session waits: 900 s for the phone, and then 120 s for the browser. The promise
 * settles in any case.
 */
export const LONGEST_WAIT_MS = 1_080_000

/**
 * | phase | the bond |
 * |---|---|
 * | `loading` | loads what it needs to draw and to check its container |
 * | `measuring` | waits until the container meets the contract |
 * | `finding` | waits for the session: the given one, a stored one, or a new one |
 * | `speaking` | waits for the texts of its language |
 * | `watching` | watches the session, also after the outcome, until the session has ended |
 * | `closed` | does nothing more |
 */
type Phase = 'loading' | 'measuring' | 'finding' | 'speaking' | 'watching' | 'closed'

/** When a timer is due; `Infinity` for one that is not set. */
interface Timers {
  readonly draw: Instant
  readonly longest: Instant
}

/** One bond of a page. */
export interface BondState {
  readonly phase: Phase
  readonly timers: Timers & Readonly<Record<string, Instant>>
  /** Whether the page has its outcome. */
  readonly isSettled: boolean
  readonly containment: Containment | undefined
  readonly found: FoundSession | undefined
  /**
   * As the service described the session. The widget draws no QR code from data of the page or its
   * backend, so there is none before the service has shown this session to this page's key.
   */
  readonly snapshot: Snapshot | undefined
  readonly hasContact: boolean
  /** What the browser's proof shows; undefined while the session does not wait for it. */
  readonly proof: ProofReport | undefined
  /**
   * The secret, followed by its commitment. Of this tab, from its own storage or its own random
   * numbers, and from nowhere else.
   */
  readonly secret: string | undefined
}

/** What happens to a bond. */
export type BondEvent =
  | readonly ['start']
  /** Whether all that the widget needs was loaded. */
  | readonly ['loaded', isComplete: boolean]
  | readonly ['contained', containment: Containment]
  /** The container has broken the contract for too long. */
  | readonly ['breached']
  /** The container meets the contract for the first time. */
  | readonly ['ready']
  /** `secret` is the one of this tab, from before a reload. */
  | readonly ['found', found: Found, secret?: string | undefined]
  | readonly ['spoken']
  | readonly ['snapshot', snapshot: Snapshot]
  | readonly ['contact', hasContact: boolean]
  | readonly ['unavailable', reason: UnavailableReason]
  | readonly ['cancel']
  | readonly ['proof', report: ProofReport]
  | readonly ['tick']

/** What a bond does. */
export type BondEffect =
  | readonly ['load']
  | readonly ['guard']
  | readonly ['unguard']
  | readonly ['find']
  /** Waits for the texts. One in another language would move what is drawn. */
  | readonly ['speak']
  /** Stores the session for a reload, and watches it. */
  | readonly ['watch', found: FoundSession]
  | readonly ['cancelWatch']
  /** Cancels a session that no phone shall approve. */
  | readonly ['revoke', address: SessionAddress]
  | readonly ['markBreached', isBreached: boolean]
  | readonly ['report', containment: Containment]
  | readonly ['logBreach', breaches: readonly string[]]
  | readonly ['identify', tenant: Tenant]
  | readonly ['show', screen: Screen]
  /**
   * Judges the container at once. The browser does not draw in between, so no QR code appears below
   * an overlay.
   */
  | readonly ['check']
  /** Starts the browser's proof. */
  | readonly ['openProof', address: SessionAddress, secret: string | undefined]
  /** Closes the browser's prompt. The proof reports nothing more. */
  | readonly ['closeProof']
  /** A reload no longer resumes the session. */
  | readonly ['forget']
  | readonly ['settle', outcome: BondOutcome]
  /** Stops the watch and the checks. */
  | readonly ['stop']

/** The next state while it is being made, with what the reducer may read and will return. */
interface Draft extends Mutable<BondState>, Moment {
  readonly timers: Mutable<Timers> & Record<string, Instant>
  readonly effects: BondEffect[]
}

/** A bond whose parts are being loaded. For the size of the script, without what is undefined. */
export const INITIAL_BOND = {
  phase: 'loading',
  timers: { draw: Infinity, longest: Infinity },
  isSettled: false,
  hasContact: true,
} as BondState

/** What an event changes in a bond, and what the bond then does. */
export function reduceBond(
  state: BondState,
  event: BondEvent,
  moment: Moment,
): Reaction<BondState, BondEffect> {
  const draft: Draft = { ...state, ...moment, timers: { ...state.timers }, effects: [] }
  if (state.phase !== 'closed') apply(draft, event)
  // The user or the page was faster than the backend.
  else if (event[0] === 'found' && event[1].kind === 'session')
    draft.effects.push(['revoke', event[1].address])
  const { effects, now: _now, random: _random, ...next } = draft
  return { state: next, effects }
}

function apply(draft: Draft, event: BondEvent): void {
  const { phase, effects } = draft
  switch (event[0]) {
    case 'start':
      return void effects.push(['load'])
    case 'loaded':
      if (!event[1]) return close(draft, 'network')
      draft.phase = 'measuring'
      return void effects.push(['guard'])
    case 'contained':
      return contain(draft, event[1])
    case 'breached':
      return close(draft, 'container_hidden', isTooSmall(draft) ? 'no_room' : undefined)
    case 'ready':
      draft.phase = 'finding'
      return void effects.push(['find'])
    case 'found':
      if (event[1].kind === 'none') return close(draft, event[1].reason)
      draft.phase = 'speaking'
      draft.found = event[1]
      draft.secret = event[2]
      return void effects.push(['speak'])
    case 'spoken':
      return begin(draft)
    case 'snapshot':
      return update(draft, event[1])
    case 'contact':
      draft.hasContact = event[1]
      return draw(draft)
    case 'unavailable':
      return close(draft, event[1])
    case 'cancel':
      return phase === 'watching' ? void effects.push(['cancelWatch']) : close(draft, 'canceled')
    case 'proof':
      return follow(draft, event[1])
    case 'tick':
      return tick(draft)
  }
}

function contain(draft: Draft, containment: Containment): void {
  const { verdict, breaches } = containment
  const isBreached = verdict === 'breached'
  draft.containment = containment
  draft.effects.push(['markBreached', isBreached])
  report(draft)
  if (isBreached) draft.effects.push(['logBreach', breaches])
}

/** Reports no box that is only too small: the page need not have caused it. */
function report(draft: Draft): void {
  const { phase, containment, effects } = draft
  if (phase === 'watching' && containment && !isTooSmall(draft))
    effects.push(['report', containment])
}

function begin(draft: Draft): void {
  const { found, now, timers, effects } = draft
  if (!found) return
  draft.phase = 'watching'
  timers.longest = now + LONGEST_WAIT_MS
  effects.push(['watch', found])
  report(draft)
  if (found.confirmed) update(draft, found.snapshot)
  else present(draft)
}

function update(draft: Draft, snapshot: Snapshot): void {
  draft.snapshot = snapshot
  if (isOfOther(draft)) return close(draft, 'confirmed_elsewhere')
  present(draft)
  const outcome = outcomeOf(draft, snapshot)
  if (outcome) {
    draft.effects.push(['unguard'])
    settle(draft, outcome)
  }
  if (hasEnded(snapshot.state)) stop(draft)
}

function present(draft: Draft): void {
  const { snapshot, found, secret, effects } = draft
  if (snapshot?.tenant) effects.push(['identify', snapshot.tenant])
  // Only the service's word that the phone has approved starts the browser's proof, and nothing in
  // the page replaces it.
  const isWanted = snapshot?.state === 'step_up_required' && snapshot.hint === 'browser'
  if (isWanted !== Boolean(draft.proof)) {
    draft.proof = isWanted ? { screen: { name: 'evaluating' } } : undefined
    effects.push(isWanted ? ['openProof', found!.address, secret] : ['closeProof'])
  }
  draw(draft)
  effects.push(['check'])
}

function follow(draft: Draft, proof: ProofReport): void {
  if (!draft.proof) return
  draft.proof = proof
  draft.secret = proof.secret ?? draft.secret
  if (proof.reason) return close(draft, proof.reason)
  draw(draft)
  draft.effects.push(['check'])
}

function draw(draft: Draft): void {
  const { snapshot, hasContact, now, timers, effects } = draft
  timers.draw = now + TICK_MS
  const screen = snapshot ? screenOf(snapshot, now) : plain('starting')
  effects.push(['show', { ...screen, ...draft.proof?.screen, hasContact }])
}

function tick(draft: Draft): void {
  const { timers, now } = draft
  if (timers.draw <= now) draw(draft)
  if (timers.longest > now) return
  timers.longest = Infinity
  if (!draft.isSettled) close(draft, 'network')
}

function close(
  draft: Draft,
  reason: UnavailableReason,
  screen: Screen['name'] = UNAVAILABLE_SCREENS[reason] ?? 'unavailable',
): void {
  if (draft.phase === 'speaking') draft.effects.push(['revoke', draft.found!.address])
  const text = draft.proof?.reason && draft.proof.screen.text
  stop(draft)
  // The widget keeps showing an outcome, so a page may hide the container afterwards.
  if (!draft.isSettled) draft.effects.push(['show', { ...plain(screen), text }])
  settle(draft, unavailable(reason))
}

function settle(draft: Draft, outcome: BondOutcome): void {
  if (draft.isSettled) return
  draft.isSettled = true
  // A page that was left resumes the session when it is opened again.
  if (outcome.reason !== 'page_hidden') draft.effects.push(['forget'])
  draft.effects.push(['settle', outcome])
}

function stop(draft: Draft): void {
  draft.phase = 'closed'
  draft.timers.draw = draft.timers.longest = Infinity
  draft.proof = undefined
  draft.effects.push(['stop'])
}

/**
 * Whether the only fault is a small box, as on a small screen. The page need not have caused it.
 */
function isTooSmall({ containment }: BondState): boolean {
  return containment?.breaches.join() === 'too_small'
}

/**
 * Whether another browser has proved itself, or the service does not say that this one has. The
 * backend then reads no verification with the secret of this tab.
 */
function isOfOther({ snapshot, secret }: Draft): boolean {
  return snapshot?.state === 'bonded' && secret?.slice(SECRET_LENGTH) !== snapshot.provedBy
}

/** The outcome for the page; undefined while the phone can still answer. */
function outcomeOf(
  { found, secret }: Draft,
  { state, endedReason }: Snapshot,
): BondOutcome | undefined {
  const browserSecret = secret?.slice(0, SECRET_LENGTH)
  if (state === 'bonded')
    return { state, sessionId: found!.address.id, ...(browserSecret && { browserSecret }) }
  if (state === 'pending' || state === 'step_up_required') return undefined
  return {
    state,
    sessionId: null,
    ...(state === 'killed' && endedReason ? { reason: endedReason } : {}),
  }
}
