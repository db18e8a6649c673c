import { CLOSE, hasEnded, openChannel } from '@bonded/contract'
import type { UnavailableReason } from '../outcome.ts'
import { advance } from './advance.ts'
import { createBackoff } from './backoff.ts'
import { explainBlocked, explainNotFound } from './explain.ts'
import { readFrame } from './frame.ts'
import { getSession, type SessionAnswer } from './get-session.ts'
import { interruptible } from './pause.ts'
import type { SessionAddress, Snapshot } from './snapshot.ts'
import { onWake } from './wake.ts'

/**
 * Below the service's maximum of 25,000, so that its answer arrives before the widget's own
 * timeout.
 */
const LONGEST_WAIT_MS = 20_000
/**
 * Keeps polling under the 120 calls a minute of protocol 10, even if a proxy cuts waiting short.
 */
const BETWEEN_POLLS_MS = 1_000
/**
 * After this much silence the widget sends GET: a browser sees no pings, and a half-open socket is
 * silent.
 */
const LONGEST_SILENCE_MS = 30_000
/** The time that a due change has to arrive on the channel. */
const GRACE_MS = 1_000
/**
 * If the first answer takes longer than this, the widget also sends GET while the channel opens.
 */
const FIRST_ANSWER_MS = 500
/** After this many channels that never opened, the network counts as blocking them. */
const BLOCKED_AFTER = 2
/** Bad frame and superseded: a new channel would end the same way. */
const DO_NOT_RETURN: readonly number[] = [CLOSE.badFrame, CLOSE.superseded]

interface Watch {
  readonly address: SessionAddress
  readonly publishableKey: string
  readonly purpose: { readonly workflow: string; readonly action: string }
  /** What the page provided, or what the service has confirmed. */
  readonly snapshot: Snapshot
  readonly confirmed: boolean
  readonly onSnapshot: (snapshot: Snapshot) => void
  readonly onUnavailable: (reason: UnavailableReason) => void
}

/**
 * Watches a session until it ends: by the channel, or by polling where the network blocks
 * WebSockets. Sends GET whenever a channel ends and whenever the page wakes. Reports only answers
 * of the service.
 *
 * @returns a function that stops watching
 */
export function watch({
  address,
  publishableKey,
  purpose,
  onSnapshot,
  onUnavailable,
  ...start
}: Watch): () => void {
  let { snapshot, confirmed } = start
  let ended = false
  let hasFrame = false
  let failedOpenings = 0
  let woken = false
  let silence: ReturnType<typeof setTimeout> | undefined
  let closeChannel: (() => void) | undefined
  let backoff = createBackoff()
  const waits = interruptible()
  const isEnded = () => ended
  const isBlocked = () => failedOpenings >= BLOCKED_AFTER

  const end = () => {
    ended = true
    stopWaking()
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
    // The service's first answer replaces what the page provided.
    snapshot = confirmed ? advance(snapshot, received) : received
    confirmed = true
    if (hasEnded(snapshot.state)) end()
    onSnapshot(snapshot)
  }
  const take = async (answer: SessionAnswer): Promise<void> => {
    switch (answer.kind) {
      case 'snapshot':
        return update(answer.snapshot)
      case 'unreadable':
        return giveUp('unknown_answer')
      case 'rejected':
        return giveUp(answer.reason)
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
        return fail(answer.retryAfterMs)
    }
  }
  const takeAgain = (answer: SessionAnswer) => (answer.kind === 'blocked' ? fail(0) : take(answer))
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
      let opened = false
      // A firewall may drop the handshake. The user must not wait for the QR code until it times
      // out.
      const first = setTimeout(() => !confirmed && void readNow(), FIRST_ANSWER_MS)
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
            opened = true
            failedOpenings = 0
            checkLater()
          },
          message(data) {
            const received = readFrame(data, { sessionId: address.id, now: performance.now() })
            if (received === undefined) return giveUp('unknown_answer')
            hasFrame = true
            update(received)
            checkLater()
          },
          closed(code) {
            if (!opened) failedOpenings += 1
            if (DO_NOT_RETURN.includes(code)) failedOpenings = BLOCKED_AFTER
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
      silence = setTimeout(
        () => void check(),
        Math.min(LONGEST_SILENCE_MS, untilDueMs()) + GRACE_MS,
      )
  }
  const readNow = async () =>
    take(await getSession({ address, publishableKey, wait: null, signal: null }))
  /**
   * Sends GET while the channel is open. A channel that has not reported the same state is dead.
   */
  const check = async () => {
    const { seq, state, code } = snapshot
    await readNow()
    const knewAll =
      snapshot.seq === seq && snapshot.state === state && snapshot.code?.payload === code?.payload
    if (backoff.isFailing() || !knewAll) closeChannel?.()
    else if (closeChannel) checkLater()
  }
  const poll = async (waitMs: number) => {
    const signal = waits.signal()
    const answer = await getSession({
      address,
      publishableKey,
      wait: waitMs > 0 ? { ms: waitMs, after: snapshot.seq } : null,
      signal,
    })
    if (!signal.aborted) await take(answer)
  }

  const run = async () => {
    while (!isEnded()) {
      // A page that woke up sends GET first.
      const readFirst = woken
      woken = false
      if (!readFirst && !isBlocked()) await listen()
      const retryAfterMs = backoff.retryAfterMs(performance.now())
      if (retryAfterMs > 0 && !isEnded()) await waits.pause(retryAfterMs)
      if (!isEnded())
        await poll(
          isBlocked() && !readFirst && !backoff.isFailing()
            ? Math.min(LONGEST_WAIT_MS, untilDueMs() + 1)
            : 0,
        )
      if (!isEnded() && !woken)
        await waits.pause(
          isBlocked() && !backoff.isFailing() ? BETWEEN_POLLS_MS : backoff.delayMs(),
        )
    }
  }

  const stopWaking = onWake(() => {
    // The clock may have stopped or continued during sleep, so the outage is measured anew.
    backoff = createBackoff()
    woken = closeChannel === undefined
    if (woken) waits.interrupt()
    else void check()
  })
  void run()
  return end
}
