import type { UnavailableReason } from '../outcome.ts'
import { type Answer, ask } from './ask.ts'
import { openChannel } from './channel.ts'
import { explainBlocked, explainNotFound } from './explain.ts'
import { contact } from './contact.ts'
import { interruptible } from './pause.ts'
import type { SessionAddress, Standing } from './read.ts'
import { advance, isOver } from './standing.ts'
import { onWake } from './wake.ts'

/** Below the 25 000 the service allows, so that its answer comes before ours is counted as lost. */
const LONGEST_WAIT_MS = 20_000
/** Keeps polling under the 120 calls a minute of protocol 10, even if a proxy cuts waiting short. */
const BETWEEN_POLLS_MS = 1_000
/** After this much silence GET is asked: a browser sees no pings, and a half-open socket is silent. */
const LONGEST_SILENCE_MS = 30_000
/** A change that is due gets this long to arrive by itself. */
const GRACE_MS = 1_000
/** Until the service has answered, GET is asked beside a channel that takes longer than this. */
const FIRST_ANSWER_MS = 500
/** So many channels that never opened mean that something on the way blocks them. */
const BLOCKED_AFTER = 2
/** Bad frame and superseded: a reconnect would end the same way. */
const DO_NOT_RETURN = [4400, 4429]

interface Watch {
  readonly address: SessionAddress
  readonly publishableKey: string
  readonly purpose: { readonly workflow: string; readonly action: string }
  /** What the page passed along, or what the service has confirmed. */
  readonly standing: Standing
  readonly confirmed: boolean
  readonly onStanding: (standing: Standing) => void
  readonly onUnavailable: (reason: UnavailableReason) => void
}

/**
 * Watches a session until it is over: by the channel while that works, by polling where sockets are
 * blocked. Whenever a channel ends, and whenever the page wakes, GET is asked. Only what the service
 * itself has answered is reported. Returns what ends the watching.
 */
export function watch({
  address,
  publishableKey,
  purpose,
  onStanding,
  onUnavailable,
  ...start
}: Watch): () => void {
  let { standing, confirmed } = start
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
    // The service's first answer replaces whatever the page passed along.
    standing = confirmed ? advance(standing, news) : news
    confirmed = true
    if (isOver(standing)) end()
    onStanding(standing)
  }
  const take = async (answer: Answer): Promise<void> => {
    switch (answer.kind) {
      case 'standing':
        return learn(answer.standing)
      case 'unreadable':
        return giveUp('unknown_answer')
      case 'rejected':
        return giveUp(answer.reason)
      case 'gone':
        // A session that expired over an hour ago reads as not found.
        if (untilExpiryMs() === 0) return learn({ ...standing, state: 'expired' })
        return giveUp(
          confirmed
            ? 'session_not_found'
            : await explainNotFound({ address, publishableKey, purpose }),
        )
      case 'blocked':
        return confirmed
          ? missed(0)
          : retake(await explainBlocked({ address, publishableKey, purpose }))
      case 'later':
        return missed(answer.retryAfterMs)
    }
  }
  const retake = (answer: Answer) => (answer.kind === 'blocked' ? missed(0) : take(answer))
  const missed = (restMs: number) => {
    if (ended) return
    reach.missed(performance.now(), Math.min(restMs, untilExpiryMs()))
    if (reach.isLost(performance.now())) giveUp('network')
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
      // A firewall may swallow a handshake: a user must not wait for the QR code until it times out.
      const first = setTimeout(() => !confirmed && void askBeside(), FIRST_ANSWER_MS)
      const over = () => {
        hangUp = undefined
        clearTimeout(silence)
        clearTimeout(first)
        resolve()
      }
      const after = parseFrame ? standing.seq : undefined
      const close = openChannel(
        { address, publishableKey, after },
        {
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
        },
      )
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
  const askBeside = async () =>
    take(await ask({ address, publishableKey, wait: null, signal: null }))
  /** Asks GET beside the channel. A channel that has not reported as much is dead. */
  const doubt = async () => {
    const { seq, state, code } = standing
    await askBeside()
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
      wait: waitMs > 0 ? { ms: waitMs, after: standing.seq } : null,
      signal,
    })
    if (!signal.aborted) await take(answer)
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
    // The clock may have stopped or run on while the page slept, so the outage is measured anew.
    reach = contact()
    woken = hangUp === undefined
    if (woken) rest.interrupt()
    else void doubt()
  })
  void run()
  return end
}
