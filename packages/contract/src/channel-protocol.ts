/** The subprotocol that the service selects. */
export const CHANNEL_PROTOCOL = 'bonded.v1'
/** A client offers `watch.<watch token>`, unless the token is in its address. */
export const WATCH_PREFIX = 'watch.'
/**
 * The parameter of `websocket_url` that carries the watch token, so that a client can open the
 * address as it is. Our own clients move the token to a subprotocol, because proxies log addresses.
 * The service rejects it in the query of any other request.
 */
export const WATCH_PARAMETER = 'watch_token'
/** A browser can also offer `key.<publishable key>`. */
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
