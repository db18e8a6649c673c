import { openChannel } from '@bonded/contract'
import type { Checks } from '../loading/load-checks.ts'
import { runReducer } from '../reducer.ts'
import type { UnavailableReason } from '../outcome.ts'
import { explainBlocked, explainNotFound } from './explain.ts'
import { readFrame } from './frame.ts'
import { cancelSession, getSession, type SessionResponse } from './get-session.ts'
import type { SessionAddress, Snapshot } from './snapshot.ts'
import { onSleep, onWake } from './wake.ts'
import type { WatchEffect, WatchEvent, WatchState } from './watch-state.ts'

/** A session that is being watched. */
export interface Watching {
  readonly stop: () => void
  /**
   * Cancels the session. If the phone was faster, its response counts: the service decides which of
   * the two took effect. Without a response, the watch ends as `canceled`.
   */
  readonly cancel: () => void
  /** Takes a response of the service to another request, as if the watch had sent it. */
  readonly take: (response: SessionResponse) => void
}

interface Watch {
  /** The loaded module with the rules of the watch. */
  readonly rules: Pick<Checks, 'initialWatch' | 'reduceWatch'>
  readonly address: SessionAddress
  readonly publishableKey: string
  readonly purpose: { readonly workflow: string; readonly action: string }
  /** What the page provided, or what the service has confirmed. */
  readonly snapshot: Snapshot
  readonly confirmed: boolean
  readonly onSnapshot: (snapshot: Snapshot) => void
  readonly onUnavailable: (reason: UnavailableReason) => void
  /** The service has not responded for 5 s, or it responds again. */
  readonly onContact: (hasContact: boolean) => void
  readonly onFailure: (cause: unknown) => void
}

/**
 * Watches a session until it ends: by the channel, or by polling where the network blocks
 * WebSockets. Sends GET whenever a channel ends and whenever the page wakes. Reports only responses
 * of the service.
 */
// oxlint-disable-next-line max-lines-per-function -- a list: an entry for each effect
export function watch({
  rules,
  address,
  publishableKey,
  purpose,
  snapshot,
  confirmed,
  onSnapshot,
  onUnavailable,
  onContact,
  onFailure,
}: Watch): Watching {
  const subject = { address, publishableKey, purpose }
  let closeChannel = () => {}
  let poll = new AbortController()
  const dispatch = runReducer<WatchState, WatchEvent, WatchEffect>(
    rules.reduceWatch,
    rules.initialWatch(snapshot, confirmed),
    {
      open(after) {
        closeChannel = openChannel(
          {
            WebSocket,
            url: address.websocketUrl,
            offer: { watchToken: address.watchToken, publishableKey, after },
            schedule,
          },
          {
            opened: () => dispatch('opened'),
            message: (data) =>
              dispatch('frame', readFrame(data, { sessionId: address.id, now: performance.now() })),
            closed: (code, waitMs) => dispatch('closed', code, waitMs),
          },
        )
      },
      close: () => closeChannel(),
      read(of, waitMs, after) {
        if (of === 'poll') poll = new AbortController()
        const signal = of === 'poll' ? poll.signal : null
        const wait = waitMs > 0 ? { ms: waitMs, after } : null
        void getSession({ ...subject, wait, signal }).then((response) => {
          if (!signal?.aborted) dispatch('responded', of, response)
        })
      },
      explain(of, kind) {
        const { signal } = poll
        void (kind === 'gone' ? explainNotFound : explainBlocked)(subject).then((response) => {
          if (of !== 'poll' || !signal.aborted) dispatch('explained', of, response)
        })
      },
      abort: () => poll.abort(),
      cancel: () =>
        void cancelSession(subject).then((response) => dispatch('cancelResponded', response)),
      snapshot: onSnapshot,
      contact: onContact,
      unavailable: onUnavailable,
      end() {
        stopSleeping()
        stopWaking()
      },
    },
    onFailure,
  )
  const stopSleeping = onSleep((isFinal) => dispatch('slept', isFinal))
  const stopWaking = onWake(() => dispatch('woke'))
  dispatch('start')
  return {
    stop: () => dispatch('stop'),
    cancel: () => dispatch('cancel'),
    take: (response) => dispatch('responded', 'first', response),
  }
}

function schedule(delayMs: number, act: () => void): () => void {
  const timer = setTimeout(act, delayMs)
  return () => clearTimeout(timer)
}
