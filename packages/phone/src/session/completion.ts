import { hasEnded } from '@bonded/contract'
import type { PhoneError } from '../errors.ts'
import type { AbortSignalLike } from '../ports.ts'
import { serverMsAt } from '../server-time.ts'
import { isRetryable, pause } from '../service/retry.ts'
import { type Channel, openChannel } from './channel.ts'
import { type ClaimedSession, getSession, type PhoneDependencies } from './claimed-session.ts'

/** Protocol 9: the longest wait of a poll. */
const LONGEST_POLL_MS = 25_000
/** The silence after which the phone reads the session: a lost network closes no sockets. */
const SILENCE_MS = 30_000
/** The pause between polls that return at once: below half of a device's rate limit. */
const POLL_PAUSE_MS = 1_000

/** How a phone follows its session. */
export interface Following {
  /** Called after each change before the end, such as the bond, so that a screen can follow. */
  readonly onChange?: ((claimed: ClaimedSession) => void) | undefined
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Waits until the session has ended: `completed` is the success, `killed` and `expired` are not. It
 * uses the channel, or polls without one. It survives a lost network until the session expires.
 *
 * @throws {PhoneError} `refused` (`session_not_found` once the service has purged the session),
 * `unreachable` after its end, `cancelled`
 */
export async function waitForEnd(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  { signal, onChange }: Following = {},
): Promise<ClaimedSession> {
  const { id: session_id, watch_token } = claimed.session
  const channel =
    phone.WebSocket && watch_token !== undefined
      ? openChannel(phone.WebSocket, { ...phone, session_id, watch_token })
      : undefined
  const cancel = () => channel?.close()
  signal?.addEventListener('abort', cancel)
  try {
    let known = claimed
    while (!hasEnded(known.session.state)) {
      const notified =
        channel !== undefined && (await isNotified(phone, channel, known.session.seq))
      const before = known
      known = await readOnce(phone, before, {
        signal,
        ...(notified ? {} : { wait_ms: LONGEST_POLL_MS }),
      })
      const { seq, state } = known.session
      if (seq !== before.session.seq && !hasEnded(state) && signal?.aborted !== true)
        onChange?.(known)
    }
    return known
  } finally {
    signal?.removeEventListener('abort', cancel)
    channel?.close()
  }
}

/** Resolves true when a frame or a long silence is a reason to read; false on a closed channel. */
async function isNotified(
  phone: PhoneDependencies,
  channel: Channel,
  seq: number,
): Promise<boolean> {
  let cancel = () => {}
  const silence = new Promise<boolean>((resolve) => {
    cancel = phone.clock.schedule(SILENCE_MS, () => resolve(true))
  })
  try {
    return await Promise.race([channel.after(seq), silence])
  } finally {
    cancel()
  }
}

async function readOnce(
  phone: PhoneDependencies,
  known: ClaimedSession,
  how: { wait_ms?: number; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const startedAt = phone.clock.now()
  try {
    const now = await getSession(phone, known, how)
    const returnedAtOnce = phone.clock.now() - startedAt < POLL_PAUSE_MS
    if (now.session.seq === known.session.seq && !hasEnded(now.session.state) && returnedAtOnce)
      await pause(phone.clock, { ms: POLL_PAUSE_MS, signal: how.signal })
    return now
  } catch (error) {
    const leftMs = untilExpiryMs(phone, known)
    if (!isRetryable(error) || leftMs < 0) throw error
    // Wait as long as the service asks, but not beyond the end of the session.
    const requestedMs = Math.min((error as PhoneError).retry_after_ms ?? 0, leftMs)
    await pause(phone.clock, { ms: Math.max(POLL_PAUSE_MS, requestedMs), signal: how.signal })
    return known
  }
}

/** Below zero once the session must have ended. */
function untilExpiryMs(phone: PhoneDependencies, { session, server_time }: ClaimedSession): number {
  return Date.parse(session.expires_at) - serverMsAt(server_time, phone.clock.now())
}
