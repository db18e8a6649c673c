import type { IncomingMessage, Server } from 'node:http'
import {
  AFTER_PREFIX,
  CHANNEL_PROTOCOL,
  CLOSE,
  KEY_PREFIX,
  parseId,
  type SessionId,
  WATCH_PREFIX,
} from '@bonded/contract'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Refusal, type Result, refuse } from '../domain/refusal.ts'
import type { Session } from '../domain/session.ts'
import type { ConnectionCaps } from '../http/connection-caps.ts'
import { rejectOnSocket } from '../http/raw-response.ts'
import { type RequestLine, requestIdOf, type TellRequest, traceIdOf } from '../http/request-line.ts'
import { alignResponse } from '../http/response-timing.ts'
import { authenticateChannel } from '../operations/authenticate.ts'
import type { Service } from '../operations/service.ts'
import { type Watched, watchSession } from '../operations/watch-session.ts'
import type { Cancel } from '../ports/clock.ts'
import type { StoredEvent } from '../ports/store.ts'
import { closeChannel } from './close-channel.ts'
import { countUpgrade } from './count-upgrade.ts'
import { challengeFrame, eventFrame, HEARTBEAT_MS, helloFrame } from './frames.ts'
import { SessionBroadcaster } from './session-broadcaster.ts'

/** A client has nothing to say; this only bounds what is read before it is told so. */
const MAX_PAYLOAD_BYTES = 4_096
const ROUTE = '/sessions/:session_id'
const SWITCHING_PROTOCOLS = 101
/** RFC 6455, section 4.4: a client that speaks another version is told which one to speak. */
const SPOKEN_VERSION = { 'Sec-WebSocket-Version': '13' }
const PATH = /^\/sessions\/([^/?]+)$/
/** A client that missed this many pings is gone. */
export const MAX_MISSED_PINGS = 2

/** Whether an upgrade request is for the channel. */
export function isChannelPath(path: string): boolean {
  return PATH.test(path)
}

/** A client that heard 1012 answers within a round trip; one that is gone must not hold up a restart. */
const DRAIN_MS = 2_000

/** What a client offers in its subprotocols. */
interface Offer {
  /** The publishable key, which a browser must offer. */
  readonly key: string | undefined
  readonly watchToken: string
  readonly after: number | undefined
}

/** The real-time channel (protocol 9). */
export class Channel implements AsyncDisposable {
  readonly #service: Service
  readonly #sockets = new Map<WebSocket, { missed: number }>()
  readonly #rooms = new Map<SessionId, SessionBroadcaster>()
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_PAYLOAD_BYTES,
    handleProtocols: () => CHANNEL_PROTOCOL,
  })
  #cancelHeartbeat: Cancel
  #draining = false

  constructor(
    service: Service,
    { http, tell, caps }: { http: Server; tell: TellRequest; caps: ConnectionCaps },
  ) {
    this.#service = service
    this.#cancelHeartbeat = this.#scheduleHeartbeat()
    // What it does not take is answered below, in our shape: without a listener it would answer by itself.
    this.#server.on('wsClientError', () => {})
    http.on('upgrade', (request, socket, head) => {
      socket.on('error', () => socket.destroy())
      const arrivedMs = performance.now()
      const requestId = requestIdOf(request.headers, service.random)
      const answered = (
        status: number,
        about: Pick<RequestLine, 'refusal' | 'tenantId' | 'sessionId'>,
      ) => {
        const { method, headers } = request
        tell(
          {
            requestId,
            traceId: traceIdOf(headers),
            method,
            route: ROUTE,
            status,
            ms: performance.now() - arrivedMs,
            ...about,
          },
          'channel',
        )
      }
      const refused = async (refusal: Refusal, headers: Readonly<Record<string, string>> = {}) => {
        await alignResponse(refusal.reason, arrivedMs)
        answered(rejectOnSocket(socket, { refusal, requestId, headers }), { refusal })
      }
      if (!caps.admitsChannel(socket)) return void refused({ reason: 'overloaded' })
      this.#admit(request).then(
        (admitted) => {
          if (this.#draining) return refused({ reason: 'overloaded' })
          if (!admitted.ok) return refused(admitted.refusal)
          const { session, events } = admitted.value
          // What accepts the channel and what is told first leave together: one packet, and one turn of the client's loop.
          socket.cork()
          let taken = false
          this.#server.handleUpgrade(request, socket, head, (webSocket) => {
            taken = true
            this.#open(webSocket, session, events)
          })
          socket.uncork()
          if (taken)
            return answered(SWITCHING_PROTOCOLS, {
              tenantId: session.tenantId,
              sessionId: session.id,
            })
          // Where the client has gone meanwhile, nobody is left to refuse.
          return socket.destroyed
            ? undefined
            : refused({ reason: 'malformed_request' }, SPOKEN_VERSION)
        },
        () => refused({ reason: 'store_unavailable' }),
      )
    })
  }

  /** How many channels are open. */
  get size(): number {
    return this.#sockets.size
  }

  /** Closes every channel, telling its client to come back, and waits a little for those that still listen. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#draining = true
    this.#cancelHeartbeat()
    const closed = [...this.#sockets.keys()].map((socket) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      socket.once('close', () => resolve())
      socket.close(CLOSE.restarting)
      return promise
    })
    // The machine's own time, not the service's clock: this is about packets, and must end where a clock stands still.
    const late = setTimeout(() => {
      for (const socket of this.#sockets.keys()) socket.terminate()
    }, DRAIN_MS)
    await Promise.all(closed)
    clearTimeout(late)
    this.#server.close()
  }

  async #admit(request: IncomingMessage): Promise<Result<Watched>> {
    const offer = parseOffer(request.headers['sec-websocket-protocol'])
    if (offer === undefined) return refuse('credential_missing')
    const id = parseId('sess', PATH.exec(request.url?.split('?', 1)[0] ?? '')?.[1] ?? '')
    if (id !== undefined) {
      const counted = await countUpgrade(this.#service, { id, watchToken: offer.watchToken })
      if (!counted.ok) return counted
    }
    const { origin } = request.headers
    const caller = await authenticateChannel(this.#service, { key: offer.key, origin })
    if (!caller.ok) return caller
    return watchSession(this.#service, caller.value, { ...offer, id })
  }

  #open(socket: WebSocket, session: Session, events: readonly StoredEvent[] | undefined): void {
    this.#sockets.set(socket, { missed: 0 })
    socket.on('error', () => socket.terminate())
    socket.on('pong', () => this.#sockets.set(socket, { missed: 0 }))
    socket.on('message', () => closeChannel(this.#service.clock, socket, CLOSE.badFrame))
    socket.once('close', () => this.#sockets.delete(socket))

    if (events === undefined) socket.send(JSON.stringify(helloFrame(this.#service, session)))
    else {
      for (const event of events)
        socket.send(JSON.stringify(eventFrame(this.#service, session, event)))
      // Whoever comes back needs the code on show: the one it knows may be gone.
      if (session.state === 'pending')
        socket.send(JSON.stringify(challengeFrame(this.#service, session)))
    }
    this.#broadcasterOf(session).join(socket, session)
  }

  #broadcasterOf(session: Session): SessionBroadcaster {
    const { id } = session
    const open = this.#rooms.get(id)
    if (open !== undefined) return open
    const room = new SessionBroadcaster(this.#service, session, () => this.#rooms.delete(id))
    this.#rooms.set(id, room)
    return room
  }

  #scheduleHeartbeat(): Cancel {
    const { clock } = this.#service
    return clock.schedule(clock.now() + HEARTBEAT_MS, () => {
      for (const [socket, { missed }] of this.#sockets) {
        if (missed >= MAX_MISSED_PINGS) {
          socket.terminate()
          continue
        }
        this.#sockets.set(socket, { missed: missed + 1 })
        socket.ping()
      }
      this.#cancelHeartbeat = this.#scheduleHeartbeat()
    })
  }
}

function parseOffer(header: string | undefined): Offer | undefined {
  const offered = (header ?? '').split(',').map((protocol) => protocol.trim())
  const valueOf = (prefix: string) =>
    offered.find((protocol) => protocol.startsWith(prefix))?.slice(prefix.length)
  const watchToken = valueOf(WATCH_PREFIX)
  if (watchToken === undefined || !offered.includes(CHANNEL_PROTOCOL)) return undefined
  const seq = valueOf(AFTER_PREFIX)
  return {
    watchToken,
    key: valueOf(KEY_PREFIX),
    after: seq !== undefined && /^\d{1,9}$/.test(seq) ? Number(seq) : undefined,
  }
}
