import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  AFTER_PREFIX,
  CHANNEL_PROTOCOL,
  CLOSE,
  KEY_PREFIX,
  parseId,
  type SessionId,
  WATCH_PARAMETER,
  WATCH_PREFIX,
} from '@bonded/contract'
import type { Logger } from 'pino'
import { type WebSocket, WebSocketServer } from 'ws'
import { accept, type Rejection, type Result, reject } from '@bonded/core/domain/rejection'
import type { Session } from '@bonded/core/domain/session'
import { isAmbiguous } from '../http/connection/ambiguous-headers.ts'
import type { ConnectionCaps } from '../http/connection/connection-caps.ts'
import { rejectOnSocket } from '../http/connection/raw-response.ts'
import { type RequestLine, requestIdOf, type LogRequest, traceIdOf } from '../http/request-line.ts'
import { alignResponse } from '../http/response/response-timing.ts'
import { authenticateChannel } from '@bonded/core/operations/authenticate'
import type { Service } from '@bonded/core/operations/service'
import { type Watched, watchSession } from '@bonded/core/operations/session/watch-session'
import type { Cancel } from '@bonded/core/ports/clock'
import type { ConnectionLimiter, OpenConnections } from '@bonded/core/ports/peers'
import { closeChannel } from './close-channel.ts'
import { closeForRestart, closeOverTime, reconnectSpreadMs } from './close-for-restart.ts'
import { countRejectedUpgrade, countUpgrade } from './count-upgrade.ts'
import { challengeFrame, eventFrame, helloFrame } from './frames.ts'
import { Heartbeats } from './heartbeats.ts'
import { type Page, PageRecheck } from './page-recheck.ts'
import { type SocketListeners, socketListeners } from './socket-listeners.ts'
import { channelsOf, SessionBroadcaster } from './session-broadcaster.ts'

/** Clients send no messages. This bounds what the service reads before it closes the channel. */
const MAX_PAYLOAD_BYTES = 4_096
/** Other nodes learn of the channels of a session that has several here. Most have one. */
const REPORTED_CHANNELS = 2
const ROUTE = '/sessions/:session_id'
const SWITCHING_PROTOCOLS = 101
/** RFC 6455, section 4.4: a rejection of another version names the supported one. */
const SUPPORTED_VERSION = { 'Sec-WebSocket-Version': '13' }
const PATH = /^\/sessions\/([^/?]+)$/
/** The interval of pings. They detect clients that have disappeared. */
export const PING_MS = 25_000
/** The service terminates a client that missed this many pings. */
export const MAX_MISSED_PINGS = 2

/** Whether an upgrade request is for the channel. */
export function isChannelPath(path: string): boolean {
  return PATH.test(path)
}

/**
 * How long a restart waits for clients to respond to close code 1012. A response takes one round
 * trip, and an unreachable client must not delay the restart.
 */
const DRAIN_MS = 2_000

/** The credentials and position that a client offers. */
interface Offer {
  readonly key: string | undefined
  readonly watchToken: string
  readonly after: number | undefined
}

/** An admitted client. `page` is what a browser presented, and undefined for a phone. */
interface Admitted extends Watched {
  readonly page: Page | undefined
}

/** An open channel. */
interface Opened {
  /** Pings in a row to which its client has not responded. */
  missed: number
  readonly broadcaster: SessionBroadcaster
  readonly sessionId: SessionId
  readonly page: Page | undefined
}

export interface ChannelOptions {
  readonly http: Server
  readonly log: Logger
  readonly logRequest: LogRequest
  /** Whether the service can take one more channel, on this connection. */
  readonly admits: ConnectionCaps['admitsChannel']
}

/** The real-time channel (protocol 9). */
export class Channel implements AsyncDisposable, ConnectionLimiter {
  readonly #service: Service
  readonly #sockets = new Map<WebSocket, Opened>()
  readonly #heartbeats: Heartbeats
  readonly #listeners: SocketListeners
  readonly #broadcasters = new Map<SessionId, SessionBroadcaster>()
  readonly #recheck: PageRecheck
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_PAYLOAD_BYTES,
    handleProtocols: () => CHANNEL_PROTOCOL,
  })
  #cancelPings: Cancel
  #draining = false

  constructor(service: Service, options: ChannelOptions) {
    this.#service = service
    this.#recheck = new PageRecheck(service)
    this.#heartbeats = new Heartbeats(service.clock)
    this.#listeners = socketListeners({
      onPong: (socket) => {
        const opened = this.#sockets.get(socket)
        if (opened !== undefined) opened.missed = 0
      },
      onMessage: (socket) => closeChannel(service.clock, socket, CLOSE.badFrame),
      onClose: (socket) => this.#closed(socket),
    })
    service.peers.join(this)
    this.#cancelPings = this.#schedulePings()
    // The rejection of a failed upgrade has the error shape. Without a listener ws would respond
    // itself.
    this.#server.on('wsClientError', () => {})
    options.http.on('upgrade', (request, socket, head) =>
      this.#upgrade(request, { socket, head, options }),
    )
  }

  #upgrade(
    request: IncomingMessage,
    { socket, head, options }: { socket: Duplex; head: Buffer; options: ChannelOptions },
  ): void {
    const { logRequest, admits } = options
    // Most have the listener of the queue of new connections. A third would need more memory.
    if (socket.listenerCount('error') === 0) socket.on('error', destroyOnError)
    const arrivedMs = performance.now()
    const { method, headers } = request
    const requestId = requestIdOf(headers, this.#service.random)
    const log = (
      status: number,
      about: Pick<RequestLine, 'rejection' | 'tenantId' | 'sessionId'>,
    ) => {
      const ms = performance.now() - arrivedMs
      const traceId = traceIdOf(headers)
      logRequest({ requestId, traceId, method, route: ROUTE, status, ms, ...about }, 'channel')
    }
    const reject = async (rejection: Rejection, extra: Readonly<Record<string, string>> = {}) => {
      const responded = countRejectedUpgrade(this.#service, request, rejection)
      // By the cause: a 429 in its place must not reveal by its time whether the session exists.
      await alignResponse(rejection.reason, arrivedMs)
      log(rejectOnSocket(socket, { rejection: responded, requestId, headers: extra }), {
        rejection: responded,
      })
    }
    if (!admits(socket)) return void reject({ reason: 'overloaded' })
    this.#admit(request).then(
      (admitted) => {
        if (this.#draining) return reject({ reason: 'overloaded' })
        if (!admitted.ok) return reject(admitted.rejection)
        const { session } = admitted.value
        // Sends the upgrade response and the first frames in one packet.
        socket.cork()
        let upgraded = false
        this.#server.handleUpgrade(request, socket, head, (webSocket) => {
          upgraded = true
          this.#open(webSocket, admitted.value)
        })
        socket.uncork()
        if (upgraded)
          return log(SWITCHING_PROTOCOLS, { tenantId: session.tenantId, sessionId: session.id })
        // A client that has disconnected gets no rejection.
        return socket.destroyed
          ? undefined
          : reject({ reason: 'malformed_request' }, SUPPORTED_VERSION)
      },
      (err: unknown) => {
        options.log.error({ err, requestId }, 'request failed')
        return reject({ reason: 'store_unavailable' })
      },
    )
  }

  /** The number of open channels. */
  get size(): number {
    return this.#sockets.size
  }

  *reported(): Iterable<OpenConnections> {
    for (const [id, { size }] of this.#broadcasters)
      if (size >= REPORTED_CHANNELS) yield [channelsOf(id), size]
  }

  closeExcess(groups: Iterable<string>): void {
    const others = new Set(groups)
    if (others.size === 0) return
    for (const [id, broadcaster] of this.#broadcasters)
      if (broadcaster.size > 1 && others.has(channelsOf(id))) broadcaster.closeExcess()
  }

  /** Asks the clients to reconnect, a few at a time, until the time has passed. */
  async drain(ms: number): Promise<void> {
    await closeOverTime([...this.#sockets.keys()], ms)
  }

  /**
   * Closes every channel with a code that asks its client to reconnect, and waits up to 2 s. With
   * many channels, each client is asked to wait a random time first.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#draining = true
    this.#cancelPings()
    this.#recheck[Symbol.dispose]()
    this.#heartbeats[Symbol.dispose]()
    const spreadMs = reconnectSpreadMs(this.#sockets.size)
    const closed = [...this.#sockets.keys()].map((socket) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      socket.once('close', () => resolve())
      closeForRestart(socket, spreadMs)
      return promise
    })
    // Uses the machine's timer, because the service's clock can be stopped in a test.
    const drainTimer = setTimeout(() => {
      for (const socket of this.#sockets.keys()) socket.terminate()
    }, DRAIN_MS)
    await Promise.all(closed)
    clearTimeout(drainTimer)
    this.#server.close()
  }

  async #admit(request: IncomingMessage): Promise<Result<Admitted>> {
    if (isAmbiguous(request)) return reject('malformed_request')
    const parsed = parseOffer(request)
    if (!parsed.ok) return parsed
    const offer = parsed.value
    const id = parseId('sess', PATH.exec(request.url?.split('?', 1)[0] ?? '')?.[1] ?? '')
    if (id !== undefined) {
      const counted = countUpgrade(this.#service, { id, watchToken: offer.watchToken })
      if (!counted.ok) return counted
    }
    const { origin } = request.headers
    const caller = await authenticateChannel(this.#service, { key: offer.key, origin })
    if (!caller.ok) return caller
    const watched = await watchSession(this.#service, caller.value, { ...offer, id })
    if (!watched.ok) return watched
    const page =
      caller.value === null
        ? undefined
        : {
            key: caller.value.key?.key,
            origin: caller.value.origin,
            tenantId: watched.value.tenant.id,
          }
    return accept({ ...watched.value, page })
  }

  #open(socket: WebSocket, { session, tenant, events, page }: Admitted): void {
    const broadcaster = this.#broadcasterOf(session)
    this.#sockets.set(socket, { missed: 0, broadcaster, sessionId: session.id, page })
    for (const [event, listener] of this.#listeners) socket.on(event, listener)

    if (events === undefined)
      socket.send(JSON.stringify(helloFrame(this.#service, { session, tenant })))
    else {
      for (const event of events)
        socket.send(JSON.stringify(eventFrame(this.#service, session, event)))
      // A client that reconnects needs the current QR code, because its own may have expired.
      if (session.state === 'pending')
        socket.send(JSON.stringify(challengeFrame(this.#service, session)))
    }
    broadcaster.join(socket, session)
    if (page !== undefined) this.#recheck.add(socket, page)
  }

  #closed(socket: WebSocket): void {
    const opened = this.#sockets.get(socket)
    if (opened === undefined) return
    const { broadcaster, sessionId, page } = opened
    this.#sockets.delete(socket)
    if (broadcaster.leave(socket)) this.#broadcasters.delete(sessionId)
    if (page !== undefined) this.#recheck.remove(socket, page)
  }

  #broadcasterOf(session: Session): SessionBroadcaster {
    const { id } = session
    const existing = this.#broadcasters.get(id)
    if (existing !== undefined) return existing
    const broadcaster = new SessionBroadcaster(this.#service, session, this.#heartbeats)
    this.#broadcasters.set(id, broadcaster)
    return broadcaster
  }

  #schedulePings(): Cancel {
    const { clock } = this.#service
    return clock.schedule(clock.now() + PING_MS, () => {
      for (const [socket, opened] of this.#sockets) {
        if (opened.missed >= MAX_MISSED_PINGS) {
          socket.terminate()
          continue
        }
        opened.missed += 1
        socket.ping()
      }
      this.#cancelPings = this.#schedulePings()
    })
  }
}

/**
 * Reads what a client offers: the watch token in a subprotocol, or in the query of the address that
 * `websocket_url` names. Two tokens are ambiguous, so one request has one of them.
 */
function parseOffer({ headers, url = '' }: IncomingMessage): Result<Offer> {
  const header = headers['sec-websocket-protocol']
  const offered = (header ?? '').split(',').map((protocol) => protocol.trim())
  const valueOf = (prefix: string) =>
    offered.find((protocol) => protocol.startsWith(prefix))?.slice(prefix.length)
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  const tokens = [valueOf(WATCH_PREFIX), ...new URLSearchParams(query).getAll(WATCH_PARAMETER)]
  const [watchToken, ...others] = tokens.filter((token) => token !== undefined)
  if (others.length > 0) return reject('invalid_parameter', { param: WATCH_PARAMETER })
  if (watchToken === undefined || (header !== undefined && !offered.includes(CHANNEL_PROTOCOL)))
    return reject('credential_missing')
  const seq = valueOf(AFTER_PREFIX)
  return accept({
    watchToken,
    key: valueOf(KEY_PREFIX),
    after: seq !== undefined && /^\d{1,9}$/.test(seq) ? Number(seq) : undefined,
  })
}

/** A closure in the upgrade's listener would keep the request in memory as long as the channel. */
function destroyOnError(this: { readonly destroy: () => unknown }): void {
  this.destroy()
}
