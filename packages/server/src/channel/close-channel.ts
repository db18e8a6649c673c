import type { WebSocket } from 'ws'
import type { Clock } from '@bonded/core/ports/clock'

/** Enough for a round trip on a bad network. The service does not wait longer for a response. */
export const CLOSE_HANDSHAKE_MS = 3_000

/** Closes a channel, and terminates it if the client does not respond within 3 s. */
export function closeChannel(clock: Clock, socket: WebSocket, code: number): void {
  if (socket.readyState !== socket.OPEN) return
  socket.close(code)
  socket.once(
    'close',
    clock.schedule(clock.now() + CLOSE_HANDSHAKE_MS, () => socket.terminate()),
  )
}
