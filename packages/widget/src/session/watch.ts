import type { UnavailableReason } from '../outcome.ts'
import { type Answer, ask } from './ask.ts'
import { openChannel } from './channel.ts'
import { contact } from './contact.ts'
import { interruptible } from './pause.ts'
import type { SessionAddress, Standing } from './read.ts'
import { advance, isOver } from './standing.ts'
import { onWake } from './wake.ts'

/** Below the 25 000 the service allows, so that its answer comes before ours is counted as lost. */
const LONGEST_WAIT_MS = 20_000
/** Keeps polling under the 120 calls a minute of protocol 10, whatever a proxy does with waiting. */
const BETWEEN_POLLS_MS = 1_000
/** A channel this quiet is asked after: a browser does not see pings, and a half-open socket says nothing. */
const LONGEST_SILENCE_MS = 30_000
/** News due now is given this long to arrive by itself. */
const GRACE_MS = 1_000
/** So many channels that never opened mean that something on the way blocks them. */
const BLOCKED_AFTER = 2
/** Bad frame and superseded: coming back would only do it again. */
const DO_NOT_RETURN = [4400, 4429]

interface Watch {
  readonly address: SessionAddress
  readonly publishableKey: string
  readonly standing: Standing
  readonly onStanding: (standing: Standing) => void
  readonly onUnavailable: (reason: UnavailableReason) => void
}

/**
 * Watches a session until it is over: by the channel while that works, by polling where sockets are blocked.
 * Whenever a channel ends, and whenever the page wakes, GET is asked. Returns what ends the watching.
 */
export function watch({
  address,
  publishableKey,
  onStanding,
  onUnavailable,
  ...start
}: Watch): () => void {
  let standing = start.standing
  let ended = false
  let parseFrame = false
  let failedOpenings = 0
  let woken = false
  let silence: ReturnType<typeof setTimeout> | undefined
  let hangUp: (() => void) | undefined
  let reach = contact()
  const rest = interruptible()
  const isEnded = () => ended
  const isBlocked = () => failedOpenings >= BLOCKED_AFTER

  const end = () => {
    ended = true
    stopWaking()
    clearTimeout(silence)
    hangUp?.()
    rest.interrupt()
  }
  const giveUp = (reason: UnavailableReason) => {
    if (ended) return
    end()
    onUnavailable(reason)
  }
  const learn = (news: Standing) => {
    if (ended) return
    reach.heard()
    standing = advance(standing, news)
    if (isOver(standing)) end()
    onStanding(standing)
  }
  const take = (answer: Answer) => {
    switch (answer.kind) {
      case 'standing':
        return learn(answer.standing)
      case 'unreadable':
        return giveUp('unknown_answer')
      case 'refused':
        return giveUp('service_refused')
      case 'gone':
        // A session that ran out and was forgotten reads as not found.
        return untilExpiryMs() > 0
          ? giveUp('session_not_found')
          : learn({ ...standing, state: 'expired' })
      case 'later':
        reach.missed(performance.now(), Math.min(answer.retryAfterMs ?? 0, untilExpiryMs()))
        if (reach.isLost(performance.now())) giveUp('network')
    }
  }
  const untilExpiryMs = () => Math.max(0, standing.expiresAt - performance.now())
  /** Until something must change by itself: the code, or the session. */
  const untilDueMs = () => {
    const showsCode = standing.state === 'pending' && standing.code
    return Math.min(
      untilExpiryMs(),
      showsCode ? Math.max(0, showsCode.rotatesAt - performance.now()) : Number.POSITIVE_INFINITY,
    )
  }

  /** Resolves when the channel is over, for whatever reason. */
  const listen = () =>
    new Promise<void>((resolve) => {
      let opened = false
      const over = () => {
        hangUp = undefined
        clearTimeout(silence)
        resolve()
      }
      const close = openChannel(address, parseFrame ? standing.seq : undefined, {
        opened() {
          opened = true
          failedOpenings = 0
          doubtLater()
        },
        news(news) {
          parseFrame = true
          learn(news)
          doubtLater()
        },
        unreadable: () => giveUp('unknown_answer'),
        closed(code) {
          if (!opened) failedOpenings += 1
          if (DO_NOT_RETURN.includes(code)) failedOpenings = BLOCKED_AFTER
          over()
        },
      })
      hangUp = () => {
        close()
        over()
      }
    })
  const doubtLater = () => {
    clearTimeout(silence)
    if (!ended)
      silence = setTimeout(
        () => void doubt(),
        Math.min(LONGEST_SILENCE_MS, untilDueMs()) + GRACE_MS,
      )
  }
  /** Asks GET beside the channel. A channel that had not said as much is dead, however open it looks. */
  const doubt = async () => {
    const { seq, state, code } = standing
    take(await ask({ address, publishableKey }))
    const knewAll =
      standing.seq === seq && standing.state === state && standing.code?.payload === code?.payload
    if (reach.isBroken() || !knewAll) hangUp?.()
    else if (hangUp) doubtLater()
  }
  const poll = async (waitMs: number) => {
    const signal = rest.signal()
    const answer = await ask({
      address,
      publishableKey,
      wait: waitMs > 0 ? { ms: waitMs, after: standing.seq } : undefined,
      signal,
    })
    if (!signal.aborted) take(answer)
  }

  const run = async () => {
    while (!isEnded()) {
      // A page that woke up asks before anything else.
      const askFirst = woken
      woken = false
      if (!askFirst && !isBlocked()) await listen()
      const restMs = reach.restMs(performance.now())
      if (restMs > 0 && !isEnded()) await rest.pause(restMs)
      if (!isEnded())
        await poll(
          isBlocked() && !askFirst && !reach.isBroken()
            ? Math.min(LONGEST_WAIT_MS, untilDueMs() + 1)
            : 0,
        )
      if (!isEnded() && !woken)
        await rest.pause(isBlocked() && !reach.isBroken() ? BETWEEN_POLLS_MS : reach.backoffMs())
    }
  }

  const stopWaking = onWake(() => {
    // While the page slept, time stood still or ran on: being out of contact is counted anew.
    reach = contact()
    woken = hangUp === undefined
    if (woken) rest.interrupt()
    else void doubt()
  })
  void run()
  return end
}
