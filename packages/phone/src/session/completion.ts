import { isLost, PhoneError } from '../errors.ts'
import type { AbortSignalLike } from '../ports.ts'
import { serverMsAt } from '../server-time.ts'
import { pause } from '../service/patience.ts'
import { type Channel, openChannel } from './channel.ts'
import { type ClaimedSession, hasEnded, type Instruments, look } from './claimed.ts'

/** Protocol 9: the longest a poll is held. */
const LONGEST_POLL_MS = 25_000
/** A channel this silent is asked about: a phone's network dies without telling its sockets. */
const SILENCE_MS = 30_000
/** Between polls that are not held: stays below half of what a device may ask. */
const POLL_PAUSE_MS = 1_000

/**
 * Waits until the session has ended: `completed` is the success, `killed` and `expired` are not. Listens on the channel
 * and polls where there is none; rides out a lost network for as long as the session can live.
 *
 * @throws {PhoneError} `refused` (`session_not_found` once the service has forgotten it), `unreachable` after its end, `cancelled`
 */
export async function waitForEnd(
  phone: Instruments,
  claimed: ClaimedSession,
  { signal }: { signal?: AbortSignalLike | undefined } = {},
): Promise<ClaimedSession> {
  const { id: session_id, watch_token } = claimed.session
  const channel =
    phone.WebSocket && watch_token !== undefined
      ? openChannel(phone.WebSocket, { origin: phone.origin, session_id, watch_token })
      : undefined
  const cancel = () => channel?.close()
  signal?.addEventListener('abort', cancel)
  try {
    let known = claimed
    while (!hasEnded(known.session.state)) {
      const listened = channel !== undefined && (await heardOf(phone, channel, known.session.seq))
      known = await ask(phone, known, { signal, ...(listened ? {} : { wait_ms: LONGEST_POLL_MS }) })
    }
    return known
  } finally {
    signal?.removeEventListener('abort', cancel)
    channel?.close()
  }
}

/** Whether it was the channel, by a frame or by its silence, that says to ask; false where it is closed. */
async function heardOf(phone: Instruments, channel: Channel, seq: number): Promise<boolean> {
  const silence = Promise.withResolvers<boolean>()
  const cancel = phone.clock.schedule(SILENCE_MS, () => silence.resolve(true))
  try {
    return await Promise.race([channel.after(seq), silence.promise])
  } finally {
    cancel()
  }
}

async function ask(
  phone: Instruments,
  known: ClaimedSession,
  how: { wait_ms?: number; signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  const askedAt = phone.clock.now()
  try {
    const now = await look(phone, known, how)
    const answeredAtOnce = phone.clock.now() - askedAt < POLL_PAUSE_MS
    if (now.session.seq === known.session.seq && !hasEnded(now.session.state) && answeredAtOnce)
      await pause(phone.clock, { ms: POLL_PAUSE_MS, signal: how.signal })
    return now
  } catch (error) {
    const isTrouble = isLost(error) || (error instanceof PhoneError && error.status === 429)
    const leftMs = untilExpiryMs(phone, known)
    if (!isTrouble || leftMs < 0) throw error
    // A service that names a time is not asked before it; beyond the session's end there is nothing to ask.
    const askedMs = Math.min((error as PhoneError).retry_after_ms ?? 0, leftMs)
    await pause(phone.clock, { ms: Math.max(POLL_PAUSE_MS, askedMs), signal: how.signal })
    return known
  }
}

/** Below zero once it must have ended. */
function untilExpiryMs(phone: Instruments, { session, server_time }: ClaimedSession): number {
  return Date.parse(session.expires_at) - serverMsAt(server_time, phone.clock.now())
}
