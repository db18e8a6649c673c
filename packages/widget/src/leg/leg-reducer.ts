import type { Mutable, Moment, Reaction } from '../machine.ts'
import type { Instant } from '../session/snapshot.ts'

/** The pause before the request is read, or the proof is sent, again. */
const PAUSE_MS = 2_000
/** How often a proof is sent whose response was lost. The service takes the same one twice. */
export const ATTEMPTS = 4

/**
 * | phase | the browser's proof |
 * |---|---|
 * | `opening` | reads what the service asks for |
 * | `ready` | waits for a click of the user |
 * | `asking` | waits for the prompt of the browser |
 * | `sending` | waits for the service |
 * | `closed` | does nothing more |
 */
type Phase = 'opening' | 'ready' | 'asking' | 'sending' | 'closed'

/** The proof of one browser for one session. */
export interface LegState {
  readonly phase: Phase
  readonly timers: { readonly again: Instant } & Readonly<Record<string, Instant>>
  /** The proof that is being sent, and how often it was. */
  readonly proof: string
  readonly attempts: number
}

/** What happens to the proof. */
export type LegEvent =
  | readonly ['open']
  /** `lost`: no response, or the session no longer waits. The last one: this browser cannot. */
  | readonly ['opened', result: 'ready' | 'lost' | 'unsupported']
  /** The user presses the button. */
  | readonly ['confirm']
  /** The browser has given its proof, as JSON. */
  | readonly ['proved', proof: string]
  /** The browser has given none: the user did not want, or this browser cannot. */
  | readonly ['refused', isFinal: boolean]
  | readonly ['sent', result: 'accepted' | 'rejected' | 'lost']
  | readonly ['close']
  | readonly ['tick']

/** What the proof does. */
export type LegEffect =
  | readonly ['read']
  /** Asks the browser. Performed within the click, which browsers require. */
  | readonly ['prove']
  | readonly ['send', proof: string]
  /** `busy`: there is nothing that the user can do here. */
  | readonly ['show', screen: 'busy' | 'ready' | 'again']
  /** The session cannot go on in this browser. The page cannot make the service require less. */
  | readonly ['giveUp']

/** The next state while it is being made. */
interface Draft extends Mutable<LegState>, Moment {
  readonly effects: LegEffect[]
}

/** A proof that has not started. */
export const INITIAL_LEG: LegState = {
  phase: 'opening',
  timers: { again: Infinity },
  proof: '',
  attempts: 0,
}

/** What an event changes in a proof, and what the proof then does. A closed one ignores events. */
export function reduceLeg(
  state: LegState,
  event: LegEvent,
  moment: Moment,
): Reaction<LegState, LegEffect> {
  const draft: Draft = { ...state, ...moment, effects: [] }
  if (state.phase !== 'closed') apply(draft, event)
  const { effects, now: _now, random: _random, ...next } = draft
  return { state: next, effects }
}

function apply(draft: Draft, event: LegEvent): void {
  const { phase, effects } = draft
  switch (event[0]) {
    case 'open':
      return void effects.push(['read'])
    case 'opened':
      if (phase !== 'opening') return
      if (event[1] === 'unsupported') return giveUp(draft)
      return event[1] === 'ready' ? wait(draft, 'ready') : pause(draft)
    case 'confirm':
      if (phase !== 'ready') return
      draft.phase = 'asking'
      return void effects.push(['show', 'ready'], ['prove'])
    case 'proved':
      if (phase !== 'asking') return
      Object.assign(draft, { phase: 'sending', proof: event[1], attempts: 0 })
      effects.push(['show', 'busy'])
      return send(draft)
    case 'refused':
      if (phase !== 'asking') return
      return event[1] ? giveUp(draft) : wait(draft, 'again')
    case 'sent':
      return sent(draft, event[1])
    case 'close':
      return close(draft)
    case 'tick':
      return tick(draft)
  }
}

function send(draft: Draft): void {
  draft.attempts += 1
  draft.effects.push(['send', draft.proof])
}

function sent(draft: Draft, result: 'accepted' | 'rejected' | 'lost'): void {
  // After `accepted`, the session itself says what follows.
  if (draft.phase !== 'sending' || result === 'accepted') return
  if (result === 'lost' && draft.attempts < ATTEMPTS) return pause(draft)
  wait(draft, 'again')
}

function tick(draft: Draft): void {
  if (draft.timers.again > draft.now) return
  draft.timers = INITIAL_LEG.timers
  if (draft.phase === 'sending') send(draft)
  else draft.effects.push(['read'])
}

function pause(draft: Draft): void {
  draft.timers = { again: draft.now + PAUSE_MS }
}

function wait(draft: Draft, screen: 'ready' | 'again'): void {
  draft.phase = 'ready'
  draft.proof = ''
  draft.effects.push(['show', screen])
}

function giveUp(draft: Draft): void {
  close(draft)
  draft.effects.push(['giveUp'])
}

function close(draft: Draft): void {
  Object.assign(draft, { ...INITIAL_LEG, phase: 'closed' })
}
