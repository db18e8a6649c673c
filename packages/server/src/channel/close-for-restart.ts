import { CLOSE, RECONNECT_PREFIX } from '@bonded/contract'
import type { WebSocket } from 'ws'

/** How often a few more channels are closed. */
const STEP_MS = 50
/** Another node, or the next process, accepts this many channels a second beside its other work. */
const RECONNECTS_PER_SECOND = 1_000
/** A page shows that it has lost its connection after 5 s. */
const LONGEST_SPREAD_MS = 4_000

/** Over how long clients must spread their return, if all of them are closed at once. */
export function reconnectSpreadMs(channels: number): number {
  return Math.min(LONGEST_SPREAD_MS, Math.floor((channels / RECONNECTS_PER_SECOND) * 1_000))
}

/** Closes a channel, and asks its client to reconnect after a random part of the time. */
export function closeForRestart(socket: WebSocket, spreadMs: number): void {
  const waitMs = Math.floor(Math.random() * spreadMs)
  socket.close(CLOSE.restarting, waitMs > 0 ? `${RECONNECT_PREFIX}${waitMs}` : '')
}

/**
 * Closes channels evenly over the time, so that their clients reconnect elsewhere a few at a time,
 * and each has a channel until its turn.
 */
export async function closeOverTime(sockets: readonly WebSocket[], ms: number): Promise<void> {
  const startedMs = performance.now()
  for (let closed = 0; closed < sockets.length; ) {
    const part = ms === 0 ? 1 : Math.min(1, (performance.now() - startedMs) / ms)
    for (; closed < sockets.length * part; closed++) {
      const socket = sockets[closed]
      if (socket?.readyState === socket?.OPEN) closeForRestart(socket as WebSocket, 0)
    }
    if (closed < sockets.length) await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}
