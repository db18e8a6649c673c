import { CLOSE, type ServerFrame, type SessionId } from '@bonded/contract'
import type { WebSocket } from 'ws'
import { shownChallenge } from '../domain/challenge.ts'
import { type Session, stateAt } from '../domain/session.ts'
import { TERMINAL } from '../domain/transitions.ts'
import { expireSessions } from '../operations/expire-sessions.ts'
import type { Service } from '../operations/service.ts'
import type { ChangeNotification } from '../ports/bus.ts'
import type { Cancel } from '../ports/clock.ts'
import type { StoredEvent } from '../ports/store.ts'
import { closeChannel } from './close-channel.ts'
import { challengeFrame, eventFrame, heartbeatFrame, HEARTBEAT_MS } from './frames.ts'

/** The name of the channels of a session, as nodes report them to each other. */
export function channelsOf(id: SessionId): string {
  return `session ${id}`
}

/**
 * Sends the events of one session to its channels: stored events in order of `seq`, and each new
 * challenge. It closes the channels when the session has ended.
 */
export class SessionBroadcaster implements Disposable {
  readonly #service: Service
  readonly #id: SessionId
  /** Each channel with the `seq` of the last event sent to it. */
  readonly #sockets = new Map<WebSocket, number>()
  /** Channels closed in favor of newer ones, whose clients have not yet answered the close. */
  readonly #superseded = new Set<WebSocket>()
  readonly #unsubscribe: () => void
  readonly #empty: () => void
  #session: Session
  #cancelTimer: Cancel = () => {}
  /** When the timer is due; undefined if it is not scheduled. */
  #timerAt: number | undefined
  #cancelHeartbeat: Cancel = () => {}
  #cancelRetry: Cancel = () => {}
  #reading = false
  #readAgain = false

  constructor(service: Service, session: Session, empty: () => void) {
    this.#service = service
    this.#id = session.id
    this.#session = session
    this.#empty = empty
    this.#unsubscribe = service.bus.subscribe(session.id, (notification) =>
      this.#onNotification(notification),
    )
    this.#scheduleTimer()
    this.#scheduleHeartbeat()
  }

  /** The number of channels. */
  get size(): number {
    return this.#sockets.size
  }

  /** Closes the oldest channels of those that are too many, and leaves this node its share. */
  closeExcess(): void {
    const share = Math.max(1, Math.ceil(this.#maxChannels / this.#service.peers.nodes))
    for (let left = Math.min(this.#excess, this.size - share); left > 0; left--)
      this.#supersedeOldest()
  }

  /** Adds a channel that has received all events up to `session.seq`. */
  join(socket: WebSocket, session: Session): void {
    this.#sockets.set(socket, session.seq)
    socket.once('close', () => this.#leave(socket))
    // The new channel stays. If all others are on other nodes, one of them closes its oldest.
    if (this.#excess > 0 && this.size > 1) this.#supersedeOldest()
    // The session may have changed after it was read and before this channel joined.
    this.#refresh()
    this.#closeIfEnded()
  }

  [Symbol.dispose](): void {
    this.#cancelTimer()
    this.#cancelHeartbeat()
    this.#cancelRetry()
    this.#unsubscribe()
    this.#empty()
  }

  /** How many channels the session has beyond its cap, on all nodes. */
  get #excess(): number {
    return this.size + this.#service.peers.connectionsOf(channelsOf(this.#id)) - this.#maxChannels
  }

  get #maxChannels(): number {
    return this.#service.settings.connections.session
  }

  #supersedeOldest(): void {
    const [oldest] = this.#sockets.keys()
    if (oldest === undefined) return
    this.#sockets.delete(oldest)
    this.#superseded.add(oldest)
    closeChannel(this.#service.clock, oldest, CLOSE.superseded)
    // A flood can open channels faster than close handshakes time out.
    if (this.#superseded.size <= this.#maxChannels) return
    const [unanswered] = this.#superseded
    unanswered?.terminate()
  }

  #leave(socket: WebSocket): void {
    this.#superseded.delete(socket)
    // A superseded channel was removed before. It can close after this broadcaster was disposed.
    if (this.#sockets.delete(socket) && this.#sockets.size === 0) this[Symbol.dispose]()
  }

  #send(frame: ServerFrame): void {
    const text = JSON.stringify(frame)
    for (const socket of this.#sockets.keys()) socket.send(text)
  }

  /** Each session has its own timer, so that the frames of many sessions are spread over time. */
  #scheduleHeartbeat(): void {
    const { clock } = this.#service
    this.#cancelHeartbeat = clock.schedule(clock.now() + HEARTBEAT_MS, () => {
      this.#send(heartbeatFrame(this.#service, this.#session))
      this.#scheduleHeartbeat()
    })
  }

  /** Schedules the next change that causes no stored event: a new challenge, or the expiry. */
  #scheduleTimer(): void {
    const now = this.#service.clock.now()
    const { expiresAt } = this.#session
    const changesAt =
      stateAt(this.#session, now) === 'pending'
        ? shownChallenge(this.#session, now).rotatesAt
        : expiresAt
    const ended = TERMINAL.includes(this.#session.state)
    const dueAt = ended ? undefined : Math.min(changesAt, expiresAt)
    // Most events change neither the challenge nor the expiry.
    if (dueAt === this.#timerAt) return
    this.#cancelTimer()
    this.#timerAt = dueAt
    if (dueAt !== undefined)
      this.#cancelTimer = this.#service.clock.schedule(dueAt, () => {
        this.#timerAt = undefined
        this.#onTimer()
      })
  }

  #onTimer(): void {
    const now = this.#service.clock.now()
    if (now < this.#session.expiresAt) {
      if (stateAt(this.#session, now) === 'pending')
        this.#send(challengeFrame(this.#service, this.#session))
      this.#scheduleTimer()
      return
    }
    // Expires the session at once. Maintenance would do so up to a second later.
    expireSessions(this.#service).then(
      () => this.#refresh(),
      () => this.#retryLater(),
    )
  }

  #retryLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#service.clock.schedule(this.#service.clock.now() + 1_000, () =>
      this.#refresh(),
    )
  }

  /** Sends a change that the notification contains. Reads any other change from the store. */
  #onNotification({ change }: ChangeNotification): void {
    const upToDate =
      change !== undefined &&
      !this.#reading &&
      [...this.#sockets.values()].every((sentSeq) => sentSeq >= change.events[0].seq - 1)
    if (!upToDate) return this.#refresh()
    // Two changes that were committed at the same time may arrive in either order.
    if (change.session.seq < this.#session.seq) return
    this.#session = change.session
    this.#sendEvents(change.events)
  }

  #refresh(): void {
    if (this.#reading) {
      this.#readAgain = true
      return
    }
    this.#reading = true
    this.#sendNewEvents().then(
      () => this.#finishReading(),
      () => {
        this.#finishReading()
        this.#retryLater()
      },
    )
  }

  #finishReading(): void {
    this.#reading = false
    if (!this.#readAgain) return
    this.#readAgain = false
    this.#refresh()
  }

  async #sendNewEvents(): Promise<void> {
    const id = this.#id
    const seq = Math.min(...this.#sockets.values())
    const { session, events } = await this.#service.store.read(function* (tables) {
      const session = yield* tables.sessions.find(id)
      // Every event increments `seq`, so an equal `seq` means no new events.
      const changed = session !== undefined && session.seq > seq
      return { session, events: changed ? yield* tables.sessions.eventsAfter(id, seq) : [] }
    })
    if (session === undefined) return this.#closeAll()
    if (events.length === 0) return
    this.#session = session
    this.#sendEvents(events)
  }

  #sendEvents(events: readonly StoredEvent[]): void {
    for (const event of events) {
      const text = JSON.stringify(eventFrame(this.#service, this.#session, event))
      for (const [socket, sentSeq] of this.#sockets) {
        if (event.seq <= sentSeq) continue
        socket.send(text)
        this.#sockets.set(socket, event.seq)
      }
    }
    this.#closeIfEnded()
    this.#scheduleTimer()
  }

  #closeIfEnded(): void {
    if (TERMINAL.includes(this.#session.state)) this.#closeAll()
  }

  #closeAll(): void {
    for (const socket of this.#sockets.keys())
      closeChannel(this.#service.clock, socket, CLOSE.ended)
  }
}
