import { openChannel as open, parseFrame, type WebSocketConstructor } from '@bonded/contract'
import type { PhoneClock } from '../ports.ts'

/** A channel of a session. Its frames only say that something changed: the phone then reads it. */
export interface Channel {
  /** Resolves true once a frame has a later `seq`, and false once the channel is closed. */
  after(seq: number): Promise<boolean>
  close(): void
}

interface Opening {
  readonly origin: string
  readonly session_id: string
  readonly watch_token: string
  readonly clock: PhoneClock
}

/**
 * Opens the channel of a session (protocol 9). It never throws: a socket that cannot be opened is a
 * closed channel. The address is made from the phone's own origin, so that the watch token reaches
 * no other service.
 */
export function openChannel(
  WebSocket: WebSocketConstructor,
  { origin, session_id, watch_token, clock }: Opening,
): Channel {
  let latest = 0
  let isClosed = false
  let wake: () => void = () => {}
  const end = () => {
    isClosed = true
    wake()
  }
  const close = open(
    {
      WebSocket,
      url: `${origin.replace(/^http/, 'ws')}/sessions/${session_id}`,
      offer: { watchToken: watch_token },
      schedule: (delayMs, act) => clock.schedule(delayMs, act),
    },
    {
      message(data) {
        // The channel stays open after a frame that this version cannot read.
        const seq = parseFrame(data, session_id)?.['seq']
        if (typeof seq === 'number') latest = Math.max(latest, seq)
        wake()
      },
      // A restarting service spreads the return of its clients.
      closed: (_code, waitMs) => (waitMs > 0 ? void clock.schedule(waitMs, end) : end()),
    },
  )
  return {
    async after(seq) {
      for (;;) {
        if (latest > seq) return true
        if (isClosed) return false
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    close() {
      end()
      close()
    },
  }
}
