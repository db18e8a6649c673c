import type { Cancel, Clock } from '@bonded/core/ports/clock'
import { HEARTBEAT_MS } from './frames.ts'

/** Members that joined within this time share a slot. A slot's frames take well under this time. */
const SLOT_MS = 10
const SLOTS = HEARTBEAT_MS / SLOT_MS

/** Gets a call every 3 s. */
export interface Beating {
  beat(): void
}

/**
 * One timer for the heartbeats of all sessions, which together would have thousands. Each session
 * keeps the phase at which it joined, so that the frames of many sessions are spread over time.
 */
export class Heartbeats implements Disposable {
  readonly #clock: Clock
  /** Members by their phase in the interval. */
  readonly #slots = new Map<number, Set<Beating>>()
  /** The last time, in slots, whose members had their beat. */
  #doneAt = 0
  /** When the timer is due, in slots. */
  #nextAt = 0
  #cancel: Cancel | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns the slot, which `remove` needs */
  add(member: Beating): number {
    const now = this.#slotTime()
    const slot = now % SLOTS
    const members = this.#slots.get(slot)
    if (members === undefined) this.#slots.set(slot, new Set([member]))
    else members.add(member)
    // Slots before the next one with members are done. The new member's turn is an interval away.
    if (this.#cancel === undefined) {
      this.#doneAt = now
      this.#scheduleNext()
    } else if (now < this.#nextAt) this.#doneAt = Math.max(now, this.#doneAt)
    return slot
  }

  remove(member: Beating, slot: number): void {
    const members = this.#slots.get(slot)
    members?.delete(member)
    if (members?.size === 0) this.#slots.delete(slot)
    if (this.#slots.size === 0) this[Symbol.dispose]()
  }

  [Symbol.dispose](): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #slotTime(): number {
    return Math.floor(this.#clock.now() / SLOT_MS)
  }

  /** The next slot with members. Empty slots cost nothing. */
  #scheduleNext(): void {
    let next = this.#doneAt + 1
    while (next < this.#doneAt + SLOTS && !this.#slots.has(next % SLOTS)) next++
    this.#nextAt = next
    this.#cancel = this.#clock.schedule(next * SLOT_MS, () => this.#onTimer())
  }

  #onTimer(): void {
    const slotTime = this.#slotTime()
    // A timer can run a millisecond before its time.
    const now = slotTime === this.#nextAt - 1 ? this.#nextAt : slotTime
    // After a jump of the clock or a long pause, each member has one beat.
    const isUsual = now >= this.#nextAt && now - this.#doneAt < SLOTS
    const first = isUsual ? this.#doneAt + 1 : now - SLOTS + 1
    this.#doneAt = now
    for (let tick = first; tick <= now; tick++)
      for (const member of this.#slots.get(tick % SLOTS) ?? []) member.beat()
    if (this.#slots.size === 0) this.#cancel = undefined
    else this.#scheduleNext()
  }
}
