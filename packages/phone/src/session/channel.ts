import { CHANNEL_PROTOCOL, WATCH_PREFIX } from '@bonded/contract'
import type { WebSocketConstructor } from '../ports.ts'

/** An open ear on a session. Frames only say that something changed; the truth is asked for. */
export interface Channel {
  /** Resolves true once a frame tells of an event after `seq`, false once no more can come. */
  after(seq: number): Promise<boolean>
  close(): void
}

/**
 * Opens the channel of a session (protocol 9). It never throws: a socket that cannot be opened is a closed one.
 *
 * The address is made from the phone's own origin, so that the watch token goes nowhere else.
 */
export function openChannel(
  WebSocket: WebSocketConstructor,
  { origin, session_id, watch_token }: { origin: string; session_id: string; watch_token: string },
): Channel {
  let latest = 0
  let closed = false
  let wake: () => void = () => {}
  const end = () => {
    closed = true
    wake()
  }
  const socket = open(WebSocket, `${origin.replace(/^http/, 'ws')}/sessions/${session_id}`, [
    CHANNEL_PROTOCOL,
    WATCH_PREFIX + watch_token,
  ])
  socket?.addEventListener('message', ({ data }) => {
    latest = Math.max(latest, seqOf(data, session_id))
    wake()
  })
  socket?.addEventListener('close', end)
  socket?.addEventListener('error', end)
  if (socket === undefined) closed = true

  return {
    async after(seq) {
      for (;;) {
        if (latest > seq) return true
        if (closed) return false
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    close() {
      end()
      socket?.close()
    },
  }
}

function open(WebSocket: WebSocketConstructor, url: string, protocols: string[]) {
  try {
    return new WebSocket(url, protocols)
  } catch {
    return undefined
  }
}

/** The event that a frame tells of; 0 for a frame this library cannot read, which is no reason to stop listening. */
function seqOf(frame: unknown, sessionId: string): number {
  if (typeof frame !== 'string') return 0
  try {
    const { seq, session_id } = JSON.parse(frame) as { seq?: unknown; session_id?: unknown }
    return session_id === sessionId && typeof seq === 'number' ? seq : 0
  } catch {
    return 0
  }
}
