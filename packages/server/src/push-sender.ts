import type { Logger } from 'pino'
import type { WakeUp } from '@bonded/core/collections/wake-ups'
import type { Service } from '@bonded/core/operations/service'
import { wakePhone } from '@bonded/core/operations/inbox/wake-phones'
import type { ClockGuard } from './clock-guard.ts'
import { countFailure } from './count-failure.ts'

/** How many wake-ups are open at one push service. A slow one delays no other. */
const MAX_OPEN = 32
/**
 * How many wait for it. If each attempt takes its longest time, the last one begins after 8
 * minutes: before a push service would drop it.
 */
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
  /** By push service, and not by host: phones choose the hosts. */
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
    const { push, meter } = this.#service
    const name = push.serviceOf(wakeUp.endpoint)
    // A push service rejects the signature of a clock that is wrong, which ends the subscription.
    const maySend = !this.#stop.signal.aborted && this.#guard.maySend()
    if (name === undefined || !maySend) return meter.wokePhone('dropped')
    const lane: Lane = this.#lanes.get(name) ?? { waiting: [], open: new Set() }
    if (lane.waiting.length >= MAX_WAITING) return meter.wokePhone('dropped')
    this.#lanes.set(name, lane)
    lane.waiting.push(wakeUp)
    this.#sendNext(lane)
  }

  #sendNext({ waiting, open }: Lane): void {
    const next = open.size < MAX_OPEN ? waiting.shift() : undefined
    if (next === undefined) return
    const sent: Promise<void> = wakePhone(this.#service, next, this.#stop.signal)
      .catch((failure: unknown) => {
        countFailure(this.#service.meter, 'wake_ups', failure)
        this.#log.error({ err: failure }, 'a phone could not be woken')
      })
      .finally(() => {
        open.delete(sent)
        this.#sendNext({ waiting, open })
      })
    open.add(sent)
  }
}
