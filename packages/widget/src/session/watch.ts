import { awaitsPhone, CLOSE, hasEnded, openChannel } from '@bonded/contract'
import type { UnavailableReason } from '../outcome.ts'
import { advance } from './advance.ts'
import { createBackoff } from './backoff.ts'
import { createContact } from './contact.ts'
import { explainBlocked, explainNotFound } from './explain.ts'
import { readFrame } from './frame.ts'
import { cancelSession, getSession, type SessionResponse } from './get-session.ts'
import { interruptible } from './pause.ts'
import type { SessionAddress, Snapshot } from './snapshot.ts'
import { onSleep, onWake } from './wake.ts'

/** The interval of heartbeat frames, until the service names it. A poll waits no longer. */
const HEARTBEAT_MS = 3_000
/** The user reads “Reconnecting…” this long after the time of a missing response. */
const LATE_MS = 2_000
/**
 * Keeps polling under the 120 calls a minute of protocol 10, even if a proxy cuts waiting short.
 */
const BETWEEN_POLLS_MS = 1_000
/** A page sleeps until it wakes. This is the longest timer of a browser. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1
/** The time that a heartbeat frame or a due change has to arrive on the channel. */
const GRACE_MS = 1_000
/**
 * If the first response takes longer than this, the widget also sends GET while the channel opens.
 */
const FIRST_RESPONSE_MS = 500
/**
 * After this many channels that never opened or went silent, the network counts as blocking them.
 */
const BLOCKED_AFTER = 2
/** Bad frame and superseded: a new channel would end the same way. */
const DO_NOT_RETURN: readonly number[] = [CLOSE.badFrame, CLOSE.superseded]

/** A cancel without a response of the service within this time counts as lost. */
const CANCEL_LIMIT_MS = 3_000

/** A session that is being watched. */
export interface Watching {
  readonly stop: () => void
  /**
   * Cancels the session. If the phone was faster, its response counts: the service decides which of
   * the two took effect. Without a response, the watch ends as `canceled`.
   */
  readonly cancel: () => Promise<void>
}

interface Watch {
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
}

/**
 * Watches a session until it ends: by the channel, or by polling where the network blocks
 * WebSockets. Sends GET whenever a channel ends and whenever the page wakes. Reports only responses
 * of the service.
 */
export function watch({
  address,
  publishableKey,
  purpose,
  onSnapshot,
  onUnavailable,
  onContact,
  ...start
}: Watch): Watching {
  let { snapshot, confirmed } = start
  let ended = false
  let hasFrame = false
  let failures = 0
  /** A restarting service spreads the return of its pages. */
  let returnAt = 0
  let heartbeatMs = HEARTBEAT_MS
  let frameAt = 0
  let woken = false
  let asleep = false
  let silence: ReturnType<typeof setTimeout> | undefined
  let closeChannel: (() => void) | undefined
  let backoff = createBackoff()
  const waits = interruptible()
  const contact = createContact(onContact)
  const isEnded = () => ended
  const isBlocked = () => failures >= BLOCKED_AFTER

  const end = () => {
    ended = true
    stopWaking()
    stopSleeping()
    contact.stop()
    clearTimeout(silence)
    closeChannel?.()
    waits.interrupt()
  }
  const giveUp = (reason: UnavailableReason) => {
    if (ended) return
    end()
    onUnavailable(reason)
  }
  const update = (received: Snapshot) => {
    if (ended) return
    backoff.succeeded()
    heartbeatMs = received.heartbeatMs ?? heartbeatMs
    contact.renew(heartbeatMs + LATE_MS)
    // The service's first response replaces what the page provided.
    snapshot = confirmed ? advance(snapshot, received) : received
    confirmed = true
    if (hasEnded(snapshot.state)) end()
    onSnapshot(snapshot)
  }
  const take = async (response: SessionResponse): Promise<void> => {
    switch (response.kind) {
      case 'snapshot':
        return update(response.snapshot)
      case 'unreadable':
        return giveUp('unknown_answer')
      case 'rejected':
        return giveUp(response.reason)
      case 'gone':
        // A session that expired over an hour ago reads as not found.
        if (untilExpiryMs() === 0) return update({ ...snapshot, state: 'expired' })
        return giveUp(
          confirmed
            ? 'session_not_found'
            : await explainNotFound({ address, publishableKey, purpose }),
        )
      case 'blocked':
        return confirmed
          ? fail(0)
          : takeAgain(await explainBlocked({ address, publishableKey, purpose }))
      case 'later':
        return fail(response.retryAfterMs)
    }
  }
  const takeAgain = (response: SessionResponse) =>
    response.kind === 'blocked' ? fail(0) : take(response)
  const fail = (retryAfterMs: number) => {
    if (ended) return
    backoff.failed(performance.now(), Math.min(retryAfterMs, untilExpiryMs()))
    if (backoff.isLost(performance.now())) giveUp('network')
  }
  const untilExpiryMs = () => Math.max(0, snapshot.expiresAt - performance.now())
  /** Milliseconds until the next change that is due: the QR code's, or the session's expiry. */
  const untilDueMs = () => {
    const showsCode = snapshot.state === 'pending' && snapshot.code
    return Math.min(
      untilExpiryMs(),
      showsCode ? Math.max(0, showsCode.rotatesAt - performance.now()) : Number.POSITIVE_INFINITY,
    )
  }

  /** Resolves when the channel has ended, for any reason. */
  const listen = () =>
    new Promise<void>((resolve) => {
      let openedAt: number | undefined
      // A firewall may drop the handshake. The user must not wait for the QR code until it times
      // out.
      const first = setTimeout(() => !confirmed && void readNow(), FIRST_RESPONSE_MS)
      const over = () => {
        closeChannel = undefined
        clearTimeout(silence)
        clearTimeout(first)
        resolve()
      }
      const close = openChannel(
        {
          WebSocket,
          url: address.websocketUrl,
          offer: {
            watchToken: address.watchToken,
            publishableKey,
            after: hasFrame ? snapshot.seq : undefined,
          },
          schedule: (delayMs, act) => {
            const timer = setTimeout(act, delayMs)
            return () => clearTimeout(timer)
          },
        },
        {
          opened() {
            openedAt = frameAt = performance.now()
            checkLater()
          },
          message(data) {
            const received = readFrame(data, { sessionId: address.id, now: performance.now() })
            if (received === undefined) return giveUp('unknown_answer')
            hasFrame = true
            frameAt = performance.now()
            // A proxy that forwards only the first frames is as good as none.
            if (frameAt - (openedAt ?? frameAt) > GRACE_MS) failures = 0
            update(received)
            checkLater()
          },
          closed(code, waitMs) {
            returnAt = performance.now() + waitMs
            if (openedAt === undefined) failures += 1
            if (DO_NOT_RETURN.includes(code)) failures = BLOCKED_AFTER
            over()
          },
        },
      )
      closeChannel = () => {
        close()
        over()
      }
    })
  const checkLater = () => {
    clearTimeout(silence)
    if (!ended)
      silence = setTimeout(() => void check(), Math.min(heartbeatMs, untilDueMs()) + GRACE_MS)
  }
  const readNow = async () =>
    take(await getSession({ address, publishableKey, wait: null, signal: null }))
  /**
   * Sends GET while the channel is open. A channel that is silent, or that has not reported the
   * same state, is dead.
   */
  const check = async () => {
    const { seq, state, code } = snapshot
    const isSilent = performance.now() - frameAt >= heartbeatMs
    await readNow()
    const knewAll =
      snapshot.seq === seq && snapshot.state === state && snapshot.code?.payload === code?.payload
    if (isSilent && closeChannel && !backoff.isFailing()) failures += 1
    if (isSilent || backoff.isFailing() || !knewAll) closeChannel?.()
    else if (closeChannel) checkLater()
  }
  const poll = async (waitMs: number) => {
    const signal = waits.signal()
    const response = await getSession({
      address,
      publishableKey,
      wait: waitMs > 0 ? { ms: waitMs, after: snapshot.seq } : null,
      signal,
    })
    if (!signal.aborted) await take(response)
  }

  const run = async () => {
    while (!isEnded()) {
      if (asleep) await waits.pause(LONGEST_SLEEP_MS)
      if (isEnded()) return
      // A page that woke up sends GET first.
      const readFirst = woken
      woken = false
      if (!readFirst && !isBlocked()) await listen()
      // A page in the back-forward cache sends nothing.
      if (asleep) continue
      const now = performance.now()
      const waitMs = Math.max(backoff.retryAfterMs(now), returnAt - now)
      if (waitMs > 0 && !isEnded()) await waits.pause(waitMs)
      if (!isEnded())
        await poll(
          isBlocked() && !readFirst && !backoff.isFailing()
            ? Math.min(heartbeatMs, untilDueMs() + 1)
            : 0,
        )
      if (!isEnded() && !woken)
        await waits.pause(
          isBlocked() && !backoff.isFailing()
            ? BETWEEN_POLLS_MS
            : // A new channel also waits for the time that the service asks for.
              Math.max(backoff.delayMs(), backoff.retryAfterMs(performance.now())),
        )
    }
  }

  const stopSleeping = onSleep((isFinal) => {
    if (isFinal) return giveUp('page_hidden')
    asleep = true
    closeChannel?.()
    waits.interrupt()
  })
  const stopWaking = onWake(() => {
    asleep = false
    failures = 0
    // The clock may have stopped or continued during sleep, so the outage is measured anew.
    backoff = createBackoff()
    woken = closeChannel === undefined
    if (woken) waits.interrupt()
    else void check()
  })
  contact.renew(heartbeatMs + LATE_MS)
  void run()
  return {
    stop: end,
    async cancel() {
      const giveUpWaiting = () => awaitsPhone(snapshot.state) && giveUp('canceled')
      const limit = setTimeout(giveUpWaiting, CANCEL_LIMIT_MS)
      const response = await cancelSession({ address, publishableKey })
      clearTimeout(limit)
      if (response.kind === 'snapshot') update(response.snapshot)
      giveUpWaiting()
    },
  }
}
