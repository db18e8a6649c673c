import { readFrame } from './frame.ts'
import type { SessionAddress, Standing } from './read.ts'

/** A channel that has not opened by then is blocked somewhere on the way. */
const OPENING_LIMIT_MS = 8_000

/** What the channel reports. After `closed`, or after it was closed from here, it is silent. */
export interface ChannelEvents {
  readonly opened: () => void
  readonly news: (news: Standing) => void
  /** A frame came that this version cannot read. */
  readonly unreadable: () => void
  readonly closed: (code: number) => void
}

/** What a channel is opened for. `after` is the last `seq` received, on a reconnect. */
interface Opening {
  readonly address: SessionAddress
  readonly publishableKey: string
  readonly after: number | undefined
}

/** Opens the session's channel with the key that the service checks. Returns what closes it. */
export function openChannel(
  { address, publishableKey, after }: Opening,
  events: ChannelEvents,
): () => void {
  const protocols = ['bonded.v1', `watch.${address.watchToken}`, `key.${publishableKey}`]
  if (after !== undefined) protocols.push(`after.${after}`)
  let socket: WebSocket | undefined
  let silent = false

  const end = (tell: () => void) => {
    if (silent) return
    silent = true
    clearTimeout(opening)
    socket?.close()
    tell()
  }
  const lost = () => end(() => events.closed(1006))
  const opening = setTimeout(lost, OPENING_LIMIT_MS)

  try {
    socket = new WebSocket(address.websocketUrl, protocols)
  } catch {
    // A Content Security Policy or a token with a strange byte throws here. Reported asynchronously
    // like everything else.
    queueMicrotask(lost)
    return () => end(() => {})
  }
  socket.addEventListener('open', () => {
    clearTimeout(opening)
    if (!silent) events.opened()
  })
  socket.addEventListener('message', ({ data }) => {
    if (silent) return
    const news = readFrame(data, { sessionId: address.id, now: performance.now() })
    if (news) events.news(news)
    else end(events.unreadable)
  })
  socket.addEventListener('close', ({ code }) => end(() => events.closed(code)))
  return () => end(() => {})
}
