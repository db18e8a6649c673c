import type { WebSocket } from 'ws'

/** Listeners by the name of their event. */
export type SocketListeners = readonly (readonly [string, (this: WebSocket) => void])[]

/**
 * The listeners that all channels share. A closure for each event of each channel would be a
 * quarter of an idle channel's memory.
 */
export function socketListeners({
  onPong,
  onMessage,
  onClose,
}: {
  readonly onPong: (socket: WebSocket) => void
  readonly onMessage: (socket: WebSocket) => void
  readonly onClose: (socket: WebSocket) => void
}): SocketListeners {
  const on = (handle: (socket: WebSocket) => void) =>
    function listen(this: WebSocket) {
      handle(this)
    }
  return [
    ['error', on((socket) => socket.terminate())],
    ['pong', on(onPong)],
    ['message', on(onMessage)],
    ['close', on(onClose)],
  ]
}
