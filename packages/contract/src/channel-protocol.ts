/** The subprotocol that the service selects. */
export const CHANNEL_PROTOCOL = 'bonded.v1'
/** Every client offers `watch.<watch token>`. */
export const WATCH_PREFIX = 'watch.'
/**
 * The parameter of `websocket_url` that carries the watch token to a page whose backend passes on
 * the described members only. A client sends it as a subprotocol: the service rejects a request
 * that has it in its query.
 */
export const WATCH_PARAMETER = 'watch_token'
/** A browser also offers `key.<publishable key>`. */
export const KEY_PREFIX = 'key.'
/** A client that reconnects also offers `after.<seq>` of the last event that it received. */
export const AFTER_PREFIX = 'after.'
/** The version of the envelope that every frame carries. */
export const FRAME_VERSION = 1

/** Starts the reason of a close with `restarting`. Milliseconds follow. */
export const RECONNECT_PREFIX = 'reconnect_in_ms='
/** The longest wait before a reconnect that a client accepts. */
export const LONGEST_RECONNECT_MS = 30_000

/** Close codes of the channel. */
export const CLOSE = {
  ended: 1000,
  restarting: 1012,
  badFrame: 4400,
  unauthorized: 4401,
  superseded: 4429,
} as const
