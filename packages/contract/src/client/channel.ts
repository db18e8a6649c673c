import {
  AFTER_PREFIX,
  CHANNEL_PROTOCOL,
  CLOSE,
  FRAME_VERSION,
  KEY_PREFIX,
  LONGEST_RECONNECT_MS,
  RECONNECT_PREFIX,
  WATCH_PREFIX,
} from '../channel-protocol.ts'
import { type Members, parseMembers } from './own-members.ts'

/** The part of a WebSocket that a client needs. */
export interface WebSocketLike {
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: {
      readonly data?: unknown
      readonly code?: number
      readonly reason?: string
    }) => void,
  ): void
  close(): void
}

/** The constructor of the platform. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

/** The credentials that a client offers as subprotocols. */
export interface ChannelOffer {
  readonly watchToken: string
  /** A browser's key. A phone has none. */
  readonly publishableKey?: string | undefined
  /** The `seq` of the last event received, on a reconnect. */
  readonly after?: number | undefined
}

/** The channel to open, and how. */
export interface ChannelOptions {
  readonly WebSocket: WebSocketConstructor
  readonly url: string
  readonly offer: ChannelOffer
  /** Runs an act once, after a delay in milliseconds. Returns what cancels it. */
  readonly schedule: (delayMs: number, act: () => void) => () => void
}

/** The events of a channel. After `closed`, and after the client closes it, it reports nothing. */
export interface ChannelEvents {
  readonly opened?: () => void
  /** A frame that {@link parseFrame} can read. */
  readonly message: (data: unknown) => void
  /**
   * The close code, or 1006 where the channel could not be opened, and how long the service asks
   * the client to wait before it sends anything else, in milliseconds.
   */
  readonly closed: (code: number, waitMs: number) => void
}

/** A channel that is not open after this time is blocked by a firewall or a proxy. */
const OPENING_LIMIT_MS = 8_000
/** The code that browsers report for a connection that failed without a close frame. */
const ABNORMAL_CLOSE = 1006

/**
 * Opens the channel of a session. It never throws: a socket that cannot be opened is reported as
 * closed, asynchronously like everything else.
 *
 * @returns a function that closes the channel
 */
export function openChannel(options: ChannelOptions, events: ChannelEvents): () => void {
  const { WebSocket, url, offer, schedule } = options
  let socket: WebSocketLike | undefined
  let isOver = false
  const end = (notify?: () => void) => {
    if (isOver) return
    isOver = true
    cancelOpening()
    socket?.close()
    notify?.()
  }
  const fail = () => end(() => events.closed(ABNORMAL_CLOSE, 0))
  const cancelOpening = schedule(OPENING_LIMIT_MS, fail)
  try {
    socket = new WebSocket(url, channelProtocols(offer))
  } catch {
    // A Content Security Policy, or a token with a byte that no subprotocol may have, throws here.
    void Promise.resolve().then(fail)
    return end
  }
  socket.addEventListener('open', () => {
    cancelOpening()
    if (!isOver) events.opened?.()
  })
  socket.addEventListener('message', ({ data }) => {
    if (!isOver) events.message(data)
  })
  socket.addEventListener('close', ({ code = ABNORMAL_CLOSE, reason }) =>
    end(() => events.closed(code, code === CLOSE.restarting ? reconnectMs(reason) : 0)),
  )
  return () => end()
}

/**
 * The wait that a restarting service asks for, in milliseconds: it spreads the return of its
 * clients. 0 if it asks for none.
 *
 * @param reason of the close event
 * @example reconnectMs('reconnect_in_ms=1500') // 1500
 */
export function reconnectMs(reason: string | undefined): number {
  if (typeof reason !== 'string' || !reason.startsWith(RECONNECT_PREFIX)) return 0
  const digits = reason.slice(RECONNECT_PREFIX.length)
  return /^\d{1,6}$/.test(digits) ? Math.min(Number(digits), LONGEST_RECONNECT_MS) : 0
}

/** The subprotocols of the upgrade request. The service selects the first one. */
export function channelProtocols({ watchToken, publishableKey, after }: ChannelOffer): string[] {
  const protocols = [CHANNEL_PROTOCOL, WATCH_PREFIX + watchToken]
  if (publishableKey !== undefined) protocols.push(KEY_PREFIX + publishableKey)
  if (after !== undefined) protocols.push(AFTER_PREFIX + after)
  return protocols
}

/**
 * The own members of a frame; undefined for a frame of another version or session, and for one that
 * is not JSON. An unknown *type* of frame within the version still carries the envelope.
 */
export function parseFrame(data: unknown, session_id: string): Members | undefined {
  const frame = parseMembers(data)
  return frame?.['v'] === FRAME_VERSION && frame['session_id'] === session_id ? frame : undefined
}
