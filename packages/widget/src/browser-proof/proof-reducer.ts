import type { Mutable, Moment, Reaction } from '../reducer.ts'
import type { UnavailableReason } from '../outcome.ts'
import type { Instant } from '../session/snapshot.ts'

/** The pause before the request is read, or the proof is sent, again. */
const PAUSE_MS = 2_000
/** How often a proof is sent whose response was lost. The service takes the same one twice. */
export const ATTEMPTS = 4
/** The frame has some 20 kB. The page or the network blocks one that is silent for this long. */
export const FRAME_LOAD_MS = 10_000
/** Browsers report the error page of a blocked frame as loaded. The frame speaks before that. */
const FRAME_SCRIPT_MS = 2_000
/** A lost connection can spoil one frame, although the service has just responded. */
const FRAME_ATTEMPTS = 2

/**
 * | phase | the browser's proof |
 * |---|---|
 * | `opening` | reads what the service asks for |
 * | `framing` | waits until the service's frame listens |
 * | `framed` | waits for the frame, in which the user confirms |
 * | `ready` | waits for a click of the user |
 * | `asking` | waits for the prompt of the browser |
 * | `sending` | waits for the service |
 * | `closed` | does nothing more |
 */
type Phase = 'opening' | 'framing' | 'framed' | 'ready' | 'asking' | 'sending' | 'closed'

/** What asks for the passkey. `page` becomes `frame` where the page itself may not ask. */
export type Way = 'page' | 'frame' | 'none'

/** What the service's frame tells its page, and that its document has loaded. */
export type FrameMessage = 'loaded' | 'ready' | 'blocked' | 'done' | 'failed'

/** The proof of one browser for one session. */
export interface ProofState {
  readonly phase: Phase
  readonly timers: { readonly again: Instant } & Readonly<Record<string, Instant>>
  readonly way: Way
  /** The proof that is being sent. */
  readonly proof: string
  /** How often it was sent, or how many frames have stayed silent. */
  readonly attempts: number
}

/** What happens to the proof. */
export type ProofEvent =
  | readonly ['open']
  /** `lost`: no response, or the session no longer waits. */
  | readonly ['opened', result: 'ready' | 'framed' | 'lost' | 'unsupported' | 'blocked']
  | readonly ['frame', message: FrameMessage]
  /** The user presses the button. */
  | readonly ['confirm']
  /** The browser has given its proof, as JSON. */
  /** No proof: the user chose the passkey of another phone. */
  | readonly ['proved', proof: string]
  /** The browser has given none: the user did not want, or this browser cannot. */
  | readonly ['refused', isFinal: boolean]
  | readonly ['sent', result: 'accepted' | 'rejected' | 'lost']
  | readonly ['close']
  | readonly ['tick']

/** What the proof does. */
export type ProofEffect =
  | readonly ['read', way: Way]
  /** Gives the frame its session. */
  | readonly ['start']
  /** Asks the browser. Performed within the click, which browsers require. */
  | readonly ['prove']
  | readonly ['send', proof: string]
  /** `busy`: there is nothing that the user can do here. `frame` is a new one each time. */
  | readonly ['show', screen: 'busy' | 'frame' | 'ready' | 'again' | 'rejected']
  /** The session cannot go on in this browser. The page cannot make the service require less. */
  | readonly ['giveUp', reason: ProofReason]

/** Why the proof is impossible. */
export type ProofReason = Extract<UnavailableReason, `browser_${string}`>

/** The next state while it is being made. */
interface Draft extends Mutable<ProofState>, Moment {
  readonly effects: ProofEffect[]
}

/** A proof that has not started. */
export const INITIAL_PROOF: ProofState = {
  phase: 'opening',
  timers: { again: Infinity },
  way: 'page',
  proof: '',
  attempts: 0,
}

/** What an event changes in a proof, and what the proof then does. A closed one ignores events. */
export function reduceProof(
  state: ProofState,
  event: ProofEvent,
  moment: Moment,
): Reaction<ProofState, ProofEffect> {
  const draft: Draft = { ...state, ...moment, effects: [] }
  if (state.phase !== 'closed') apply(draft, event)
  const { effects, now: _now, random: _random, ...next } = draft
  return { state: next, effects }
}

function apply(draft: Draft, event: ProofEvent): void {
  const { phase, effects } = draft
  switch (event[0]) {
    case 'open':
      return read(draft)
    case 'opened':
      return opened(draft, event[1])
    case 'frame':
      return hear(draft, event[1])
    case 'confirm':
      if (phase !== 'ready') return
      draft.phase = 'asking'
      return void effects.push(['show', 'ready'], ['prove'])
    case 'proved':
      if (phase !== 'asking') return
      if (!event[1]) return wait(draft, 'rejected')
      Object.assign(draft, { phase: 'sending', proof: event[1], attempts: 0 })
      effects.push(['show', 'busy'])
      return send(draft)
    case 'refused':
      if (phase !== 'asking') return
      if (!event[1]) return wait(draft, 'again')
      // The list of related origins can lack this page, as a browser reads only five names of it.
      draft.way = 'frame'
      return read(draft)
    case 'sent':
      return sent(draft, event[1])
    case 'close':
      return close(draft)
    case 'tick':
      return tick(draft)
  }
}

function read(draft: Draft): void {
  Object.assign(draft, { phase: 'opening', timers: INITIAL_PROOF.timers })
  draft.effects.push(['show', 'busy'], ['read', draft.way])
}

function opened(draft: Draft, result: (ProofEvent & readonly ['opened', unknown])[1]): void {
  if (draft.phase !== 'opening') return
  switch (result) {
    case 'ready':
      return wait(draft, 'ready')
    case 'framed':
      draft.phase = 'framing'
      draft.timers = { again: draft.now + FRAME_LOAD_MS }
      return void draft.effects.push(['show', 'frame'])
    case 'lost':
      return pause(draft)
    case 'unsupported':
    case 'blocked':
      return giveUp(draft, `browser_${result === 'blocked' ? 'frame_blocked' : result}`)
  }
}

function hear(draft: Draft, message: FrameMessage): void {
  const { phase, timers, now } = draft
  if (phase === 'framed' && (message === 'done' || message === 'failed')) {
    // The frame says no more than that. After `failed`, either the session no longer waits, or the
    // browser cannot do what is left.
    if (message === 'failed') draft.way = 'none'
    return read(draft)
  }
  if (phase !== 'framing') return
  if (message === 'loaded') draft.timers = { again: Math.min(timers.again, now + FRAME_SCRIPT_MS) }
  if (message === 'blocked') return giveUp(draft, 'browser_frame_blocked')
  if (message !== 'ready') return
  Object.assign(draft, { phase: 'framed', timers: INITIAL_PROOF.timers, attempts: 0 })
  draft.effects.push(['start'])
}

function send(draft: Draft): void {
  draft.attempts += 1
  draft.effects.push(['send', draft.proof])
}

function sent(draft: Draft, result: 'accepted' | 'rejected' | 'lost'): void {
  // After `accepted`, the session itself says what follows.
  if (draft.phase !== 'sending' || result === 'accepted') return
  if (result === 'lost' && draft.attempts < ATTEMPTS) return pause(draft)
  wait(draft, result === 'lost' ? 'again' : 'rejected')
}

function tick(draft: Draft): void {
  if (draft.timers.again > draft.now) return
  draft.timers = INITIAL_PROOF.timers
  if (draft.phase === 'sending') return send(draft)
  if (draft.phase === 'framing') {
    draft.attempts += 1
    if (draft.attempts >= FRAME_ATTEMPTS) return giveUp(draft, 'browser_frame_blocked')
  }
  read(draft)
}

function pause(draft: Draft): void {
  draft.timers = { again: draft.now + PAUSE_MS }
}

function wait(draft: Draft, screen: 'ready' | 'again' | 'rejected'): void {
  Object.assign(draft, { phase: 'ready', proof: '', attempts: 0 })
  draft.effects.push(['show', screen])
}

function giveUp(draft: Draft, reason: ProofReason): void {
  close(draft)
  draft.effects.push(['giveUp', reason])
}

function close(draft: Draft): void {
  Object.assign(draft, { ...INITIAL_PROOF, phase: 'closed' })
}
