import { CLOSE, openChannel, parseFrame } from '@bonded/contract'

/** The part of a created session that a channel needs. */
export interface WatchedSession {
  readonly id: string
  readonly watch_token: string
}

/** What a client saw on all channels of one session, one after another. */
export interface ReturningChannel {
  /** The `seq` of each event and its state or hint, in the order of arrival. */
  readonly events: readonly string[]
  /** How many frames described the whole session: one, if each reconnect resumed. */
  readonly hellos: number
  readonly closes: readonly number[]
  /** Resolves when the channel has received its first frame. */
  readonly opened: Promise<void>
  /** Resolves when the service has closed it because the session has ended. */
  readonly ended: Promise<void>
}

/** A channel that could not be opened is tried again after this time. */
const REOPEN_MS = 100
const schedule = (delayMs: number, act: () => void) => {
  const timer = setTimeout(act, delayMs)
  return () => clearTimeout(timer)
}

/**
 * Opens the channel of a session as section 9 of the protocol asks, and again after each close,
 * until the session has ended or the signal is aborted.
 */
export function openReturning(
  { id, watch_token }: WatchedSession,
  { origin, signal }: { readonly origin: () => string; readonly signal: AbortSignal },
): ReturningChannel {
  const [opened, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const events: string[] = []
  const closes: number[] = []
  let after: number | undefined
  let hellos = 0
  let cancel: () => void
  signal.addEventListener('abort', () => cancel())
  const open = () => {
    cancel = openChannel(
      {
        WebSocket,
        url: `${origin().replace('http', 'ws')}/sessions/${id}`,
        offer: { watchToken: watch_token, after },
        schedule,
      },
      {
        message(data) {
          const { type, seq, state, hint } = parseFrame(data, id) ?? {}
          if (type === 'hello') hellos += 1
          if (type === 'hint' || type === 'state')
            events.push(`${String(seq)} ${String(hint ?? state)}`)
          if (typeof seq === 'number') after = seq
          opened.resolve()
        },
        closed(code, waitMs) {
          closes.push(code)
          if (code === CLOSE.ended) ended.resolve()
          else cancel = schedule(code === CLOSE.restarting ? waitMs : REOPEN_MS, open)
        },
      },
    )
  }
  open()
  return {
    events,
    get hellos() {
      return hellos
    },
    closes,
    opened: opened.promise,
    ended: ended.promise,
  }
}
