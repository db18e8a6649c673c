import type { WebSocket } from 'ws'
import type { Clock } from '../ports/clock.ts'

/** Enough for a round trip on a bad network. A client that answers later is not waited for. */
export const CLOSE_HANDSHAKE_MS = 3_000

/** Closes a channel, and terminates it where the client does not answer in time. */
export function closeChannel(clock: Clock, socket: WebSocket, code: number): void {
  if (socket.readyState !== socket.OPEN) return
  socket.close(code)
  socket.once(
    'close',
    clock.schedule(clock.now() + CLOSE_HANDSHAKE_MS, () => socket.terminate()),
  )
}
