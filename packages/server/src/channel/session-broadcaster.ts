import { CLOSE, type ServerFrame, type SessionId } from '@bonded/contract'
import type { WebSocket } from 'ws'
import { shownChallenge } from '@bonded/core/domain/challenge'
import type { Session } from '@bonded/core/domain/session'
import { stateAt, TERMINAL } from '@bonded/core/protocol/states'
import { expireSessions } from '@bonded/core/operations/maintenance/expire-sessions'
import type { Service } from '@bonded/core/operations/service'
import type { ChangeNotification } from '@bonded/core/ports/bus'
import type { Cancel } from '@bonded/core/ports/clock'
import type { StoredEvent } from '@bonded/core/ports/tables/session-table'
import { closeChannel } from './close-channel.ts'
import { challengeFrame, eventFrame, heartbeatFrame } from './frames.ts'
import type { Beating, Heartbeats } from './heartbeats.ts'

/** The name of the channels of a session, as nodes report them to each other. */
export function channelsOf(id: SessionId): string {
  return `session ${id}`
}

/** A channel with the `seq` of the last event sent to it. */
interface Watcher {
  readonly socket: WebSocket
  sentSeq: number
}

const NOTHING: Cancel = () => {}

/**
 * Sends the events of one session to its channels: stored events in order of `seq`, and each new
 * challenge. It closes the channels when the session has ended.
 *
 * A node can have twenty thousand of these, so what each of them needs in memory matters.
 */
export class SessionBroadcaster implements Beating {
  readonly #service: Service
  readonly #id: SessionId
  readonly #heartbeats: Heartbeats
  readonly #heartbeatSlot: number
  /** The open channels, the oldest first. There are few of them. */
  #watchers: readonly Watcher[] = []
  /**
   * Channels closed in favor of newer ones, whose clients have not yet responded to the close. Most
   * sessions never have one.
   */
  #superseded: Set<WebSocket> | undefined
  readonly #unsubscribe: () => void
  #session: Session
  #cancelTimer = NOTHING
  /** When the timer is due; undefined if it is not scheduled. */
  #timerAt: number | undefined
  #cancelRetry = NOTHING
  #reading = false
  #readAgain = false

  constructor(service: Service, session: Session, heartbeats: Heartbeats) {
    this.#service = service
    this.#id = session.id
    this.#session = session
    this.#heartbeats = heartbeats
    this.#unsubscribe = service.bus.subscribe(session.id, (notification) =>
      this.#onNotification(notification),
    )
    this.#scheduleTimer()
    this.#heartbeatSlot = heartbeats.add(this)
  }

  /** The number of channels. */
  get size(): number {
    return this.#watchers.length
  }

  /** Closes the oldest channels of those that are too many, and leaves this node its share. */
  closeExcess(): void {
    const share = Math.max(1, Math.ceil(this.#maxChannels / this.#service.peers.nodes))
    for (let left = Math.min(this.#excess, this.size - share); left > 0; left--)
      this.#supersedeOldest()
  }

  /** Adds a channel that has received all events up to `session.seq`. */
  join(socket: WebSocket, session: Session): void {
    this.#watchers = this.#watchers.concat({ socket, sentSeq: session.seq })
    // The new channel stays. If all others are on other nodes, one of them closes its oldest.
    if (this.#excess > 0 && this.size > 1) this.#supersedeOldest()
    // The session may have changed after it was read and before this channel joined.
    this.#refresh()
    this.#closeIfEnded()
  }

  /**
   * Removes a channel that has closed.
   *
   * @returns whether it was the last one; this broadcaster has then ended
   */
  leave(socket: WebSocket): boolean {
    this.#superseded?.delete(socket)
    // A superseded channel was removed before. It can close after this broadcaster has ended.
    if (!this.#remove(socket) || this.size > 0) return false
    this.#cancelTimer()
    this.#heartbeats.remove(this, this.#heartbeatSlot)
    this.#cancelRetry()
    this.#unsubscribe()
    return true
  }

  beat(): void {
    this.#send(heartbeatFrame(this.#service, this.#session))
  }

  /** How many channels the session has beyond its cap, on all nodes. */
  get #excess(): number {
    return this.size + this.#service.peers.connectionsOf(channelsOf(this.#id)) - this.#maxChannels
  }

  get #maxChannels(): number {
    return this.#service.settings.connections.session
  }

  #supersedeOldest(): void {
    const [oldest] = this.#watchers
    if (oldest === undefined) return
    const { socket } = oldest
    this.#remove(socket)
    const superseded = (this.#superseded ??= new Set())
    superseded.add(socket)
    closeChannel(this.#service.clock, socket, CLOSE.superseded)
    // A flood can open channels faster than close handshakes time out.
    if (superseded.size <= this.#maxChannels) return
    const [withoutResponse] = superseded
    withoutResponse?.terminate()
  }

  /** @returns whether it was one of the open channels */
  #remove(socket: WebSocket): boolean {
    const others = this.#watchers.filter((watcher) => watcher.socket !== socket)
    const isOpen = others.length < this.size
    this.#watchers = others
    return isOpen
  }

  #send(frame: ServerFrame): void {
    const text = JSON.stringify(frame)
    for (const { socket } of this.#watchers) socket.send(text)
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
      this.#watchers.every(({ sentSeq }) => sentSeq >= change.events[0].seq - 1)
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
    const seq = Math.min(...this.#watchers.map(({ sentSeq }) => sentSeq))
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
      for (const watcher of this.#watchers) {
        if (event.seq <= watcher.sentSeq) continue
        watcher.socket.send(text)
        watcher.sentSeq = event.seq
      }
    }
    this.#closeIfEnded()
    this.#scheduleTimer()
  }

  #closeIfEnded(): void {
    if (TERMINAL.includes(this.#session.state)) this.#closeAll()
  }

  #closeAll(): void {
    for (const { socket } of this.#watchers) closeChannel(this.#service.clock, socket, CLOSE.ended)
  }
}
