import type { Logger } from 'pino'
import type { WakeUp } from '@bonded/core/collections/wake-ups'
import type { Service } from '@bonded/core/operations/service'
import { wakePhone } from '@bonded/core/operations/wake-phones'
import type { ClockGuard } from './clock-guard.ts'

/** How many wake-ups are open at one push service. A slow one delays no other. */
const MAX_OPEN = 32
/** How many wait. Those of a push service that is down are dropped before others. */
const MAX_WAITING = 1_000

/**
 * Wakes phones, beside the calls that ask for it. Only memory has what waits: a process that dies
 * wakes a phone less, and its request waits in the inbox.
 */
export class PushSender implements AsyncDisposable {
  readonly #service: Service
  readonly #log: Logger
  readonly #guard: ClockGuard
  readonly #stop = new AbortController()
  /** By the host of the push service. */
  readonly #waiting = new Map<string, WakeUp[]>()
  readonly #open = new Map<string, Set<Promise<void>>>()

  constructor(service: Service, log: Logger, guard: ClockGuard) {
    this.#service = service
    this.#log = log
    this.#guard = guard
    service.wakeUps.listen((wakeUps) => {
      for (const each of wakeUps) this.#add(each)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#waiting.clear()
    await Promise.all([...this.#open.values()].flatMap((open) => [...open]))
  }

  #add(wakeUp: WakeUp): void {
    const { host } = new URL(wakeUp.endpoint)
    const waiting = this.#waiting.get(host) ?? []
    this.#waiting.set(host, waiting)
    // A push service rejects the signature of a clock that is wrong, which ends the subscription.
    if (this.#stop.signal.aborted || !this.#guard.maySend() || waiting.length >= MAX_WAITING)
      return this.#service.meter.wokePhone('dropped')
    waiting.push(wakeUp)
    this.#sendTo(host)
  }

  #sendTo(host: string): void {
    const open = this.#open.get(host) ?? new Set()
    this.#open.set(host, open)
    const next = open.size < MAX_OPEN ? this.#waiting.get(host)?.shift() : undefined
    if (next === undefined) return
    const sent: Promise<void> = wakePhone(this.#service, next, this.#stop.signal)
      .catch((failure: unknown) => this.#log.error({ err: failure }, 'a phone could not be woken'))
      .finally(() => {
        open.delete(sent)
        this.#sendTo(host)
      })
    open.add(sent)
  }
}
