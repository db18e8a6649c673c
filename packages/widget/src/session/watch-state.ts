import type { UnavailableReason } from '../outcome.ts'
import { NO_OUTAGE, type Outage } from './backoff.ts'
import type { SessionResponse } from './get-session.ts'
import type { Instant, Snapshot } from './snapshot.ts'

/** The interval of heartbeat frames, until the service names it. A poll waits no longer. */
const HEARTBEAT_MS = 3_000

/**
 * | phase | the watch |
 * |---|---|
 * | `listening` | has a channel, open or opening |
 * | `resting` | waits until the service lets it send GET |
 * | `polling` | has sent GET |
 * | `pausing` | waits before the next channel or poll |
 * | `sleeping` | sends nothing: the page is in the back-forward cache |
 * | `ended` | does nothing more |
 */
type Phase = 'listening' | 'resting' | 'polling' | 'pausing' | 'sleeping' | 'ended'

/** When a timer is due; `Infinity` for one that is not set. */
export interface Timers {
  /** The end of `resting` and `pausing`. */
  readonly turn: Instant
  readonly firstResponse: Instant
  readonly silence: Instant
  readonly contact: Instant
  readonly cancel: Instant
}

export const NO_TIMERS: Timers = {
  turn: Infinity,
  firstResponse: Infinity,
  silence: Infinity,
  contact: Infinity,
  cancel: Infinity,
}

/** A session that is being watched. */
export interface WatchState {
  readonly phase: Phase
  readonly timers: Timers & Readonly<Record<string, Instant>>
  readonly snapshot: Snapshot
  /** Whether the service itself has shown this session to this page's key. */
  readonly confirmed: boolean
  /** Whether a channel has delivered a frame, so that the next one continues after it. */
  readonly hasFrame: boolean
  readonly frameAt: Instant
  /** When the channel opened; `Infinity` for one that has not. */
  readonly openedAt: Instant
  readonly failedChannels: number
  /** A restarting service spreads the return of its pages. */
  readonly returnAt: Instant
  readonly heartbeatMs: number
  readonly hasContact: boolean
  readonly outage: Outage
}

/** A GET beside an open channel, and what was known when it was sent. */
export interface Check {
  readonly known: Snapshot
  readonly isSilent: boolean
}

/** Why the session was read. */
export type ReadPurpose = 'poll' | 'first' | Check

/** What happens to a watch. */
export type WatchEvent =
  | readonly ['start']
  | readonly ['opened']
  /** Undefined: a frame that this version cannot read. */
  | readonly ['frame', snapshot: Snapshot | undefined]
  | readonly ['closed', code: number, waitMs: number]
  | readonly ['responded', of: ReadPurpose, response: SessionResponse]
  /** Why the service does not show the session: the response that takes the place of the first. */
  | readonly ['explained', of: ReadPurpose, response: SessionResponse]
  | readonly ['cancelResponded', response: SessionResponse]
  | readonly ['slept', isFinal: boolean]
  | readonly ['woke']
  | readonly ['cancel']
  | readonly ['stop']
  | readonly ['tick']

/** What a watch does. */
export type WatchEffect =
  | readonly ['open', after: number | undefined]
  | readonly ['close']
  | readonly ['read', of: ReadPurpose, waitMs: number, after: number]
  | readonly ['explain', of: ReadPurpose, kind: 'gone' | 'blocked']
  /** Aborts the poll, whose response no longer counts. */
  | readonly ['abort']
  | readonly ['cancel']
  | readonly ['snapshot', snapshot: Snapshot]
  | readonly ['contact', hasContact: boolean]
  | readonly ['unavailable', reason: UnavailableReason]
  /** Removes the listeners of the page. */
  | readonly ['end']

/** A watch that has not started. */
export function initialWatch(snapshot: Snapshot, confirmed: boolean): WatchState {
  return {
    phase: 'pausing',
    timers: { ...NO_TIMERS },
    snapshot,
    confirmed,
    hasFrame: false,
    frameAt: 0,
    openedAt: Infinity,
    failedChannels: 0,
    returnAt: 0,
    heartbeatMs: HEARTBEAT_MS,
    hasContact: true,
    outage: NO_OUTAGE,
  }
}
