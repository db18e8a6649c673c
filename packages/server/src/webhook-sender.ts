import type { WebhookEndpointId } from '@bonded/contract'
import type { Logger } from 'pino'
import {
  dueEndpoints,
  measureWebhooks,
  repairWebhookTimes,
  resealWebhooks,
  sendDue,
} from '@bonded/core/operations/send-webhooks'
import type { ClockGuard } from './clock-guard.ts'
import type { Service } from '@bonded/core/operations/service'
import type { WebhookEndpoint } from '@bonded/core/ports/tables/webhook-table'

/** How often the sender looks for deliveries that are due. */
const POLL_MS = 500
/** How often the sender reports its queue to the meter. */
const FIGURES_MS = 10_000
/** Endpoints that are served at once. With `MOST_AT_ONCE`, it bounds memory and connections. */
const MAX_LANES = 32
/** Endpoints of one tenant, so that no tenant with dead ones holds the lanes of others. */
const MAX_LANES_OF_TENANT = 2
/** Deliveries of one endpoint at once. They share one commit, which waits for the disk. */
const MOST_AT_ONCE = 32
/** After so many batches, an endpoint returns its lane. */
const MAX_BATCHES = 64
/** On shutdown, open attempts have this long to end. */
const END_MS = 3_000

async function startUp(service: Service): Promise<void> {
  await resealWebhooks(service)
  await repairWebhookTimes(service)
}

/**
 * Sends what is due. Each endpoint has a lane of its own, so a slow one delays no other. The
 * deliveries wait in the store, so memory does not grow with them.
 */
export class WebhookSender implements AsyncDisposable {
  readonly #service: Service
  readonly #log: Logger
  readonly #guard: ClockGuard
  readonly #lanes = new Map<string, { readonly tenantId: string; readonly ended: Promise<void> }>()
  readonly #stop = new AbortController()
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
    if (this.#lanes.size >= MAX_LANES || !this.#guard.maySend()) return
    // Some of those that are found have a lane already, or belong to a tenant with enough lanes.
    const due = await dueEndpoints(this.#service, 4 * MAX_LANES)
    for (const endpoint of due)
      if (!this.#isClosed && this.#hasLaneFor(endpoint)) this.#open(endpoint)
  }

  #hasLaneFor({ id, tenantId }: WebhookEndpoint): boolean {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.tenantId === tenantId)
    return (
      this.#lanes.size < MAX_LANES && lanes.length < MAX_LANES_OF_TENANT && !this.#lanes.has(id)
    )
  }

  #open({ id, tenantId }: WebhookEndpoint): void {
    const ended = this.#reporting(this.#drain(id)).then(() => {
      this.#lanes.delete(id)
    })
    this.#lanes.set(id, { tenantId, ended })
  }

  async #drain(id: WebhookEndpointId): Promise<void> {
    let batches = 1
    const mayClaim = () => !this.#isClosed && this.#guard.maySend() && batches++ < MAX_BATCHES
    await sendDue(this.#service, id, { most: MOST_AT_ONCE, signal: this.#stop.signal, mayClaim })
    // The endpoint may have more, and returns behind those that wait longer.
    if (!this.#isClosed && batches > MAX_BATCHES) queueMicrotask(() => this.#run())
  }
}
