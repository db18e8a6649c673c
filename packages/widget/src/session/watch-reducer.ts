import { awaitsPhone, CLOSE, hasEnded } from '@bonded/contract'
import type { Moment, Mutable, Reaction } from '../reducer.ts'
import type { UnavailableReason } from '../outcome.ts'
import { advance } from './advance.ts'
import { delayMs, failedAgain, isLost, NO_OUTAGE } from './backoff.ts'
import type { SessionResponse } from './get-session.ts'
import type { Instant, Snapshot } from './snapshot.ts'
import {
  type Check,
  NO_TIMERS,
  type Timers,
  type WatchEffect,
  type WatchEvent,
  type WatchState,
} from './watch-state.ts'

/** The user reads “Reconnecting…” this long after the time of a missing response. */
const LATE_MS = 2_000
/** Stays under the 120 calls a minute of protocol 10, even if a proxy cuts waiting short. */
const BETWEEN_POLLS_MS = 1_000
/** The time that a heartbeat frame or a due change has to arrive on the channel. */
const GRACE_MS = 1_000
/**
 * If the first response takes longer than this, the widget also sends GET while the channel opens.
 * A firewall may drop the handshake, and the user must not wait until it times out.
 */
const FIRST_RESPONSE_MS = 500
/** After so many channels that never opened or went silent, the network counts as blocking. */
const BLOCKED_AFTER = 2
/** Bad frame and superseded: a new channel would end the same way. */
const DO_NOT_RETURN: readonly number[] = [CLOSE.badFrame, CLOSE.superseded]
/** A cancel without a response of the service within this time counts as lost. */
const CANCEL_LIMIT_MS = 3_000

/** The next state while it is being made, with what the reducer may read and will return. */
interface Draft extends Mutable<WatchState>, Moment {
  readonly timers: Mutable<Timers> & Record<string, Instant>
  readonly effects: WatchEffect[]
}

/** What an event changes in a watch, and what the watch then does. An ended one ignores events. */
export function reduceWatch(
  state: WatchState,
  event: WatchEvent,
  moment: Moment,
): Reaction<WatchState, WatchEffect> {
  const draft: Draft = { ...state, ...moment, timers: { ...state.timers }, effects: [] }
  if (state.phase !== 'ended') apply(draft, event)
  const { effects, now: _now, random: _random, ...next } = draft
  return { state: next, effects }
}

function apply(draft: Draft, event: WatchEvent): void {
  switch (event[0]) {
    case 'start':
      renewContact(draft)
      return listen(draft)
    case 'opened':
      draft.openedAt = draft.frameAt = draft.now
      return checkLater(draft)
    case 'frame':
      return receive(draft, event[1])
    case 'closed':
      return channelClosed(draft, event[1], event[2])
    case 'responded':
    case 'explained':
      return responded(draft, event)
    case 'cancelResponded':
      if (event[1].kind === 'snapshot') update(draft, event[1].snapshot)
      return giveUpWaiting(draft)
    case 'slept':
      return event[1] ? giveUp(draft, 'page_hidden') : sleep(draft)
    case 'woke':
      return wake(draft)
    case 'cancel':
      draft.timers.cancel = draft.now + CANCEL_LIMIT_MS
      return void draft.effects.push(['cancel'])
    case 'stop':
      return end(draft)
    case 'tick':
      return tick(draft)
  }
}

function tick(draft: Draft): void {
  const isDue = (name: keyof Timers) => {
    const due = draft.timers[name] <= draft.now
    if (due) draft.timers[name] = Infinity
    return due
  }
  if (isDue('contact')) setContact(draft, false)
  if (isDue('firstResponse') && !draft.confirmed) draft.effects.push(['read', 'first', 0, 0])
  if (isDue('silence')) check(draft)
  if (isDue('turn')) {
    if (draft.phase === 'resting') poll(draft)
    else takeTurn(draft)
  }
  if (isDue('cancel')) giveUpWaiting(draft)
}

function takeTurn(draft: Draft): void {
  if (isBlocked(draft)) rest(draft)
  else listen(draft)
}

function listen(draft: Draft): void {
  draft.phase = 'listening'
  draft.openedAt = Infinity
  draft.timers.firstResponse = draft.now + FIRST_RESPONSE_MS
  draft.effects.push(['open', draft.hasFrame ? draft.snapshot.seq : undefined])
}

function receive(draft: Draft, received: Snapshot | undefined): void {
  if (draft.phase !== 'listening') return
  if (received === undefined) return giveUp(draft, 'unknown_answer')
  draft.hasFrame = true
  draft.frameAt = draft.now
  // A proxy that forwards only the first frames is as good as none.
  if (draft.now - draft.openedAt > GRACE_MS) draft.failedChannels = 0
  update(draft, received)
  checkLater(draft)
}

function channelClosed(draft: Draft, code: number, waitMs: number): void {
  if (draft.phase !== 'listening') return
  draft.returnAt = draft.now + waitMs
  if (draft.openedAt === Infinity) draft.failedChannels += 1
  if (DO_NOT_RETURN.includes(code)) draft.failedChannels = BLOCKED_AFTER
  rest(draft)
}

/** Waits as long as the service asked for, and then sends GET. */
function rest(draft: Draft): void {
  leave(draft)
  const until = Math.max(draft.outage.waitUntil, draft.returnAt)
  if (until <= draft.now) return poll(draft)
  draft.phase = 'resting'
  draft.timers.turn = until
}

function poll(draft: Draft): void {
  draft.phase = 'polling'
  const waitMs = isPolling(draft) ? Math.min(draft.heartbeatMs, untilDueMs(draft) + 1) : 0
  draft.effects.push(['read', 'poll', waitMs, draft.snapshot.seq])
}

function pause(draft: Draft): void {
  draft.phase = 'pausing'
  draft.timers.turn =
    draft.now + (isPolling(draft) ? BETWEEN_POLLS_MS : delayMs(draft.outage, draft))
}

/** Leaves the phase, with what only it has. A closed channel may be closed again. */
function leave({ phase, timers, effects }: Draft): void {
  timers.turn = timers.firstResponse = timers.silence = Infinity
  if (phase === 'listening') effects.push(['close'])
  if (phase === 'polling') effects.push(['abort'])
}

function checkLater(draft: Draft): void {
  const { phase, timers, now, heartbeatMs } = draft
  if (phase === 'listening')
    timers.silence = now + Math.min(heartbeatMs, untilDueMs(draft)) + GRACE_MS
}

/**
 * Sends GET while the channel is open. A channel that is silent, or that has not reported the same
 * state, is dead.
 */
function check({ now, frameAt, heartbeatMs, snapshot: known, effects }: Draft): void {
  effects.push(['read', { known, isSilent: now - frameAt >= heartbeatMs }, 0, 0])
}

function checked(draft: Draft, { known, isSilent }: Check): void {
  if (draft.phase !== 'listening') return
  const { seq, state, code } = draft.snapshot
  const knewAll =
    seq === known.seq && state === known.state && code?.payload === known.code?.payload
  if (isSilent && !isFailing(draft)) draft.failedChannels += 1
  if (isSilent || isFailing(draft) || !knewAll) rest(draft)
  else checkLater(draft)
}

function responded(
  draft: Draft,
  [name, of, response]: Extract<WatchEvent, readonly ['responded' | 'explained', ...unknown[]]>,
): void {
  // The response of a poll that was aborted.
  if (of === 'poll' && draft.phase !== 'polling') return
  const { kind } = response
  if (kind === 'gone' && untilExpiryMs(draft) === 0)
    // A session that expired over an hour ago reads as not found.
    return update(draft, { ...draft.snapshot, state: 'expired' })
  if (!draft.confirmed && (kind === 'gone' || (kind === 'blocked' && name === 'responded')))
    return void draft.effects.push(['explain', of, kind])
  take(draft, response)
  if (of === 'poll' && draft.phase === 'polling') pause(draft)
  if (typeof of === 'object') checked(draft, of)
}

function take(draft: Draft, response: SessionResponse): void {
  switch (response.kind) {
    case 'snapshot':
      return update(draft, response.snapshot)
    case 'unreadable':
      return giveUp(draft, 'unknown_answer')
    case 'rejected':
      return giveUp(draft, response.reason)
    case 'gone':
      return giveUp(draft, 'session_not_found')
    case 'blocked':
      return fail(draft, 0)
    case 'later':
      return fail(draft, response.retryAfterMs)
  }
}

function update(draft: Draft, received: Snapshot): void {
  draft.outage = NO_OUTAGE
  draft.heartbeatMs = received.heartbeatMs ?? draft.heartbeatMs
  renewContact(draft)
  // The service's first response replaces what the page provided.
  draft.snapshot = draft.confirmed ? advance(draft.snapshot, received) : received
  draft.confirmed = true
  if (hasEnded(draft.snapshot.state)) end(draft)
  draft.effects.push(['snapshot', draft.snapshot])
}

function fail(draft: Draft, retryAfterMs: number): void {
  draft.outage = failedAgain(draft.outage, Math.min(retryAfterMs, untilExpiryMs(draft)), draft)
  if (isLost(draft.outage, draft.now)) giveUp(draft, 'network')
}

function renewContact(draft: Draft): void {
  draft.timers.contact = draft.now + draft.heartbeatMs + LATE_MS
  if (!draft.hasContact) setContact(draft, true)
}

function setContact(draft: Draft, hasContact: boolean): void {
  const { snapshot, confirmed, effects } = draft
  draft.hasContact = hasContact
  effects.push(['contact', hasContact])
  // A phone that scans the code now may not reach the service either.
  if (!hasContact && confirmed) effects.push(['snapshot', { ...snapshot, code: null }])
}

function sleep(draft: Draft): void {
  leave(draft)
  draft.phase = 'sleeping'
}

/** A page that woke up sends GET first, on an open channel or without one. */
function wake(draft: Draft): void {
  draft.failedChannels = 0
  // The clock may have stopped or continued during sleep, so the outage is measured anew.
  draft.outage = NO_OUTAGE
  if (draft.phase === 'listening') check(draft)
  else rest(draft)
}

/** Ends the watch if the phone has not answered. */
function giveUpWaiting(draft: Draft): void {
  draft.timers.cancel = Infinity
  if (awaitsPhone(draft.snapshot.state)) giveUp(draft, 'canceled')
}

function giveUp(draft: Draft, reason: UnavailableReason): void {
  end(draft)
  draft.effects.push(['unavailable', reason])
}

function end(draft: Draft): void {
  leave(draft)
  draft.phase = 'ended'
  Object.assign(draft.timers, NO_TIMERS)
  draft.effects.push(['end'])
}

const isBlocked = ({ failedChannels }: WatchState) => failedChannels >= BLOCKED_AFTER
const isFailing = ({ outage }: WatchState) => outage.failures > 0

/** Whether polls take the place of the channel, and reach the service. */
function isPolling(state: WatchState): boolean {
  return isBlocked(state) && !isFailing(state)
}

const untilExpiryMs = ({ snapshot, now }: Draft) => Math.max(0, snapshot.expiresAt - now)

/** Milliseconds until the next change that is due: the QR code's, or the session's expiry. */
function untilDueMs(draft: Draft): number {
  const { state, code } = draft.snapshot
  return Math.min(
    untilExpiryMs(draft),
    state === 'pending' && code ? Math.max(0, code.rotatesAt - draft.now) : Infinity,
  )
}
