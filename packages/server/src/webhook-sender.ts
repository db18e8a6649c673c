import type { Logger } from 'pino'
import {
  dueEndpoints,
  measureWebhooks,
  repairWebhookTimes,
  resealWebhooks,
} from '@bonded/core/operations/webhook/send-webhooks'
import { sendAudit } from '@bonded/core/operations/audit/send-audit'
import { WebhookLane } from '@bonded/core/operations/webhook/webhook-lane'
import { MAX_ATTEMPTS } from '@bonded/core/domain/webhooks'
import type { ClockGuard } from './clock-guard.ts'
import { countFailure } from './count-failure.ts'
import type { Service } from '@bonded/core/operations/service'
import { VERSION } from './version.ts'

/** How often the sender looks for deliveries that are due. */
const POLL_MS = 500
/** How often the sender reports its queue to the meter. */
const FIGURES_MS = 10_000
/** How long open attempts have to end on shutdown. */
const END_MS = 3_000

type Lane = Pick<WebhookLane, 'run' | 'wake'>

async function startUp(service: Service): Promise<void> {
  await resealWebhooks(service)
  await repairWebhookTimes(service)
}

/**
 * Sends what is due. Each endpoint has a lane of its own, and all lanes work at once, so a slow one
 * delays no other. The deliveries wait in the store, so memory does not grow with them.
 */
export class WebhookSender implements AsyncDisposable {
  readonly #service: Service
  readonly #log: Logger
  readonly #guard: ClockGuard
  readonly #lanes = new Map<string, { readonly lane: Lane; readonly ended: Promise<void> }>()
  readonly #stop = new AbortController()
  readonly #shared = {
    free: MAX_ATTEMPTS,
    signal: this.#stop.signal,
    mayClaim: () => !this.#isClosed && this.#guard.maySend(),
  }
  #cancel = () => {}
  #polling: Promise<void>
  #isClosed = false
  #figuresAtMs = Number.NEGATIVE_INFINITY

  constructor(service: Service, log: Logger, guard: ClockGuard) {
    this.#service = service
    this.#log = log
    this.#guard = guard
    this.#polling = this.#reporting(startUp(service)).then(() => this.#schedule())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    await this.#polling
    const ends = [...this.#lanes.values()].map(({ ended }) => ended)
    const timer = setTimeout(() => this.#stop.abort(), END_MS)
    await Promise.all(ends)
    clearTimeout(timer)
  }

  #schedule(): void {
    this.#cancel()
    if (this.#isClosed) return
    const { clock } = this.#service
    this.#cancel = clock.schedule(clock.now() + POLL_MS, () => this.#run())
  }

  #run(): void {
    this.#polling = this.#polling
      .then(() => this.#reporting(this.#poll()))
      .then(() => this.#schedule())
  }

  async #reporting(work: Promise<void>): Promise<void> {
    await work.catch((failure: unknown) => {
      countFailure(this.#service.meter, 'webhooks', failure)
      this.#log.error({ err: failure }, 'webhooks could not be sent')
    })
  }

  async #poll(): Promise<void> {
    const elapsedMs = this.#service.clock.elapsed()
    if (elapsedMs >= this.#figuresAtMs) {
      this.#figuresAtMs = elapsedMs + FIGURES_MS
      await measureWebhooks(this.#service)
    }
    // What fails now would wait for a time that may be wrong.
    if (!this.#shared.mayClaim()) return
    for (const { lane } of this.#lanes.values()) lane.wake()
    const due = await dueEndpoints(this.#service, this.#shared.free)
    for (const endpoint of due.deliveries)
      this.#open(endpoint.id, new WebhookLane(this.#service, endpoint, this.#shared))
    const given = { signal: this.#stop.signal, version: VERSION }
    for (const endpoint of due.audit)
      this.#open(`audit ${endpoint.id}`, {
        run: () => sendAudit(this.#service, endpoint, given),
        wake() {},
      })
  }

  /** Runs a lane, unless one of its name runs. */
  #open(name: string, lane: Lane): void {
    if (this.#lanes.has(name)) return
    const ended = this.#reporting(lane.run()).then(() => {
      this.#lanes.delete(name)
    })
    this.#lanes.set(name, { lane, ended })
  }
}
