import type { Logger } from 'pino'
import type { WakeUp } from '@bonded/core/collections/wake-ups'
import type { Service } from '@bonded/core/operations/service'
import { wakePhone } from '@bonded/core/operations/wake-phones'
import type { ClockGuard } from './clock-guard.ts'

/** How many wake-ups are open at one push service. A slow one delays no other. */
const MAX_OPEN = 32
/** How many wait. Those of a push service that is down are dropped before others. */
const MAX_WAITING = 1_000

/** The wake-ups of one push service. */
interface Lane {
  readonly waiting: WakeUp[]
  readonly open: Set<Promise<void>>
}

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
  readonly #lanes = new Map<string, Lane>()

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
    const lanes = [...this.#lanes.values()]
    for (const { waiting } of lanes) waiting.length = 0
    await Promise.all(lanes.flatMap(({ open }) => [...open]))
  }

  #add(wakeUp: WakeUp): void {
    const { host } = new URL(wakeUp.endpoint)
    const lane: Lane = this.#lanes.get(host) ?? { waiting: [], open: new Set() }
    // A push service rejects the signature of a clock that is wrong, which ends the subscription.
    if (this.#stop.signal.aborted || !this.#guard.maySend() || lane.waiting.length >= MAX_WAITING)
      return this.#service.meter.wokePhone('dropped')
    this.#lanes.set(host, lane)
    lane.waiting.push(wakeUp)
    this.#sendNext(host, lane)
  }

  #sendNext(host: string, { waiting, open }: Lane): void {
    const next = open.size < MAX_OPEN ? waiting.shift() : undefined
    if (next === undefined) {
      // Phones choose the hosts, within a domain, so an idle one takes no memory.
      if (open.size === 0) this.#lanes.delete(host)
      return
    }
    const sent: Promise<void> = wakePhone(this.#service, next, this.#stop.signal)
      .catch((failure: unknown) => this.#log.error({ err: failure }, 'a phone could not be woken'))
      .finally(() => {
        open.delete(sent)
        this.#sendNext(host, { waiting, open })
      })
    open.add(sent)
  }
}
