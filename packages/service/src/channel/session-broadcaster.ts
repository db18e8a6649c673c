import { CLOSE, type ServerFrame, type SessionId } from '@bonded/contract'
import type { WebSocket } from 'ws'
import { shownChallenge } from '../domain/challenge.ts'
import { type Session, stateAt } from '../domain/session.ts'
import { TERMINAL } from '../domain/transitions.ts'
import { expireSessions } from '../operations/expire-sessions.ts'
import type { Service } from '../operations/service.ts'
import type { Announcement } from '../ports/bus.ts'
import type { Cancel } from '../ports/clock.ts'
import type { StoredEvent } from '../ports/store.ts'
import { closeChannel } from './close-channel.ts'
import { challengeFrame, eventFrame } from './frames.ts'

/**
 * The channels of one session. It sends what the store has recorded, in order of `seq`, the new code whenever
 * one comes on show, and closes when the session has ended.
 */
export class SessionBroadcaster implements Disposable {
  readonly #service: Service
  readonly #id: SessionId
  /** Each channel, and the `seq` up to which it has been told. */
  readonly #sockets = new Map<WebSocket, number>()
  /** Closed in favor of a newer channel, and not yet answered by the client. */
  readonly #superseded = new Set<WebSocket>()
  readonly #unsubscribe: () => void
  readonly #empty: () => void
  #session: Session
  #cancelTimer: Cancel = () => {}
  #pumping = false
  #again = false

  constructor(service: Service, session: Session, empty: () => void) {
    this.#service = service
    this.#id = session.id
    this.#session = session
    this.#empty = empty
    this.#unsubscribe = service.bus.subscribe(session.id, (announcement) =>
      this.#heard(announcement),
    )
    this.#arm()
  }

  /** Lets a channel in that has been sent everything up to `session.seq`. */
  join(socket: WebSocket, session: Session): void {
    this.#sockets.set(socket, session.seq)
    socket.once('close', () => this.#leave(socket))
    if (this.#sockets.size > this.#maxChannels) this.#supersedeOldest()
    // The newcomer was told what was read before anybody listened for it: something may have happened since.
    this.#changed()
    this.#closeIfEnded()
  }

  [Symbol.dispose](): void {
    this.#cancelTimer()
    this.#unsubscribe()
    this.#empty()
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
    // A flood opens channels faster than a close handshake times out.
    if (this.#superseded.size <= this.#maxChannels) return
    const [unanswered] = this.#superseded
    unanswered?.terminate()
  }

  #leave(socket: WebSocket): void {
    this.#superseded.delete(socket)

    // One that was superseded is out already, and may close after this room was left by all and another one opened.
    if (this.#sockets.delete(socket) && this.#sockets.size === 0) this[Symbol.dispose]()
  }

  #send(frame: ServerFrame): void {
    const text = JSON.stringify(frame)
    for (const socket of this.#sockets.keys()) socket.send(text)
  }

  /** Wakes at the next moment that no event announces: a new code, or the end of the time. */
  #arm(): void {
    this.#cancelTimer()
    const now = this.#service.clock.now()
    const { expiresAt } = this.#session
    const rotates =
      stateAt(this.#session, now) === 'pending'
        ? shownChallenge(this.#session, now).rotatesAt
        : expiresAt
    if (TERMINAL.includes(this.#session.state)) return
    this.#cancelTimer = this.#service.clock.schedule(Math.min(rotates, expiresAt), () =>
      this.#timeUp(),
    )
  }

  #timeUp(): void {
    const now = this.#service.clock.now()
    if (now < this.#session.expiresAt) {
      if (stateAt(this.#session, now) === 'pending')
        this.#send(challengeFrame(this.#service, this.#session))
      this.#arm()
      return
    }
    // The sweeper would come by within a second; who is watching need not wait for it.
    expireSessions(this.#service).then(
      () => this.#changed(),
      () => this.#retryLater(),
    )
  }

  #retryLater(): void {
    this.#cancelTimer = this.#service.clock.schedule(this.#service.clock.now() + 1_000, () =>
      this.#changed(),
    )
  }

  /** A change of this process comes with all there is to tell; anything else is read from the store. */
  #heard({ seq, change }: Announcement): void {
    const upToDate =
      change !== undefined &&
      !this.#pumping &&
      [...this.#sockets.values()].every((told) => told >= seq - 1)
    if (!upToDate) return this.#changed()
    this.#session = change.session
    this.#tell([change.event])
  }

  #changed(): void {
    if (this.#pumping) {
      this.#again = true
      return
    }
    this.#pumping = true
    this.#pump().then(
      () => this.#pumped(),
      () => {
        this.#pumped()
        this.#retryLater()
      },
    )
  }

  #pumped(): void {
    this.#pumping = false
    if (!this.#again) return
    this.#again = false
    this.#changed()
  }

  async #pump(): Promise<void> {
    const id = this.#id
    const seq = Math.min(...this.#sockets.values())
    const { session, events } = await this.#service.store.read(function* (tables) {
      const session = yield* tables.sessions.find(id)
      // Every event is a step of `seq`: without one nothing has changed that a watcher is told.
      const changed = session !== undefined && session.seq > seq
      return { session, events: changed ? yield* tables.sessions.eventsAfter(id, seq) : [] }
    })
    if (session === undefined) return this.#closeAll()
    if (events.length === 0) return
    this.#session = session
    this.#tell(events)
  }

  #tell(events: readonly StoredEvent[]): void {
    for (const event of events) {
      const text = JSON.stringify(eventFrame(this.#service, this.#session, event))
      for (const [socket, told] of this.#sockets) {
        if (event.seq <= told) continue
        socket.send(text)
        this.#sockets.set(socket, event.seq)
      }
    }
    this.#closeIfEnded()
    this.#arm()
  }

  #closeIfEnded(): void {
    if (TERMINAL.includes(this.#session.state)) this.#closeAll()
  }

  #closeAll(): void {
    for (const socket of this.#sockets.keys())
      closeChannel(this.#service.clock, socket, CLOSE.ended)
  }
}
