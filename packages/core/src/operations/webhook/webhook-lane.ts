import { withoutCredentials } from '../../domain/redaction.ts'
import type { Instant } from '../../domain/session.ts'
import {
  type Attempt,
  type AttemptResult,
  CLAIM_MS,
  isGone,
  judgeAttempt,
  judgeEndpoint,
  LEASE_MS,
  placesOf,
  succeeded,
  type Verdict,
} from '../../domain/webhooks.ts'
import type { WebhookResult } from '../../ports/meter.ts'
import type { WebhookDelivery, WebhookEndpoint } from '../../ports/tables/webhook-table.ts'
import { liveSecrets } from './send-webhooks.ts'
import type { Service } from '../service.ts'

/** How long attempts that have ended wait for others of their round, so that they share a unit. */
const GATHER_MS = 250

/** What the lanes of a node share. */
export interface Lanes {
  /** The attempts that may still begin, of all endpoints. */
  free: number
  /** Ends all attempts. */
  readonly signal: AbortSignal
  /** Called before each further claim. */
  readonly mayClaim: () => boolean
}

/** An attempt that has ended, and what follows from it. */
interface Ended {
  readonly delivery: WebhookDelivery
  readonly url: string
  /** What the lane had counted when the attempt began. */
  readonly count: number
  readonly result: AttemptResult
  readonly line: Attempt
  readonly verdict: Verdict
}

/**
 * Sends the due deliveries of one endpoint, round by round, while no other node does. A round
 * claims as many deliveries as the endpoint has places, and lasts until their attempts end, 250 ms
 * at most. One unit then stores all results that have arrived, and claims the next deliveries, so
 * an attempt that hangs costs its own place only. A process that dies at any point loses nothing:
 * its lease and its claims end, and another one sends the deliveries again.
 */
export class WebhookLane {
  readonly #service: Service
  readonly #lanes: Lanes
  #endpoint: WebhookEndpoint
  #leasedUntil = 0
  readonly #open = new Set<Promise<void>>()
  #ended: Ended[] = []
  /** Rises when the breaker counts, so that it counts attempts at once only once. */
  #count = 0
  #changed = () => {}

  constructor(service: Service, endpoint: WebhookEndpoint, lanes: Lanes) {
    this.#service = service
    this.#endpoint = endpoint
    this.#lanes = lanes
  }

  /** Looks for deliveries that became due meanwhile, if the endpoint has a place for them. */
  wake(): void {
    if (this.#freePlaces(this.#endpoint.failures) > 0) this.#changed()
  }

  /** Ends when nothing is due. */
  async run(): Promise<void> {
    do {
      const claimed = await this.#storeAndClaim()
      const secrets = claimed.length === 0 ? [] : liveSecrets(this.#service, this.#endpoint)
      await this.#gather(claimed.map((delivery) => this.#begin(delivery, secrets)))
    } while (this.#leasedUntil > 0)
  }

  #freePlaces(failures: number): number {
    const { free } = this.#lanes
    const own = this.#open.size
    return Math.min(free, Math.max(0, placesOf(failures, free + own) - own))
  }

  /** Stores what has ended, and claims what the endpoint has places for. */
  async #storeAndClaim(): Promise<readonly WebhookDelivery[]> {
    const { clock, meter, store } = this.#service
    const now = clock.now()
    const ended = this.#ended.splice(0)
    const tried = this.#endpoint
    const standing = this.#judge(ended, now)
    const limit = this.#lanes.mayClaim() ? this.#freePlaces(standing.failures) : 0
    const held = this.#leasedUntil
    const mayEnd = this.#open.size === 0 && held > 0
    if (ended.length + limit === 0 && !mayEnd) return []
    const claim = { now, limit, until: now + CLAIM_MS, held, leasedUntil: now + LEASE_MS }
    this.#lanes.free -= limit
    let claimed: readonly WebhookDelivery[] = []
    try {
      const next = await store.write(function* ({ webhooks }) {
        for (const { delivery, line, verdict } of ended)
          yield* webhooks.record(delivery, line, verdict)
        if (ended.length > 0) yield* webhooks.recordEndpoint(tried, { ...standing, now })
        const found = limit === 0 ? undefined : yield* webhooks.claim(tried.id, claim)
        if (found === undefined && mayEnd) yield* webhooks.release(tried.id, held)
        return found
      })
      this.#endpoint = next?.endpoint ?? { ...tried, failures: standing.failures }
      if (next !== undefined) this.#leasedUntil = claim.leasedUntil
      else if (mayEnd) this.#leasedUntil = 0
      claimed = next?.claimed ?? []
    } finally {
      this.#lanes.free += limit - claimed.length
    }
    for (const { result, verdict } of ended)
      meter.attemptedWebhook(resultOf(result), verdict.state === 'failed')
    return claimed
  }

  /** What the attempts say about the endpoint as the lane knows it. */
  #judge(ended: readonly Ended[], now: Instant) {
    const { url, failures } = this.#endpoint
    const attempts = ended
      .filter((each) => each.url === url)
      .map(({ result, count }) => ({ result, isLate: count !== this.#count }))
    if (attempts.some(({ result, isLate }) => !isLate || succeeded(result))) this.#count += 1
    return {
      ...judgeEndpoint(failures, attempts, now),
      isGone: attempts.some(({ result }) => isGone(result)),
    }
  }

  /** Begins an attempt. Its promise ends with it, and never rejects. */
  #begin(delivery: WebhookDelivery, secrets: readonly string[]): Promise<void> {
    const { url } = this.#endpoint
    const count = this.#count
    const attempt = this.#attempt(delivery, secrets).then((ended) => {
      this.#open.delete(attempt)
      this.#lanes.free += 1
      if (ended !== undefined) this.#ended.push({ ...ended, delivery, url, count })
      this.#changed()
    })
    this.#open.add(attempt)
    return attempt
  }

  /** @returns undefined if a shutdown ended the attempt: that says nothing about the endpoint */
  async #attempt(
    delivery: WebhookDelivery,
    secrets: readonly string[],
  ): Promise<Pick<Ended, 'result' | 'line' | 'verdict'> | undefined> {
    const { clock, random, webhooks } = this.#service
    const { url, scheme, loggedCharacters } = this.#endpoint
    const { signal } = this.#lanes
    const at = clock.now()
    const message = { url, scheme, secrets, id: delivery.eventId, body: delivery.payload }
    const result: AttemptResult =
      secrets.length === 0 ? { error: 'secret_unavailable' } : await webhooks.send(message, signal)
    if (signal.aborted) return undefined
    const now = clock.now()
    const verdict = judgeAttempt(result, {
      attempt: delivery.attempts + 1,
      now,
      random: (random.id()[0] ?? 0) / 0xff,
    })
    const logged = withoutCredentials(result, loggedCharacters)
    return { result, line: { ...logged, at, ms: now - at }, verdict }
  }

  /** Waits for the attempts of a round, 250 ms at most, but until one of any round has ended. */
  async #gather(begun: readonly Promise<void>[]): Promise<void> {
    const { clock } = this.#service
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.schedule(clock.now() + GATHER_MS, resolve)
    await Promise.race([promise, Promise.all(begun.length > 0 ? begun : this.#open)])
    cancel()
    if (this.#open.size === 0 || this.#ended.length > 0) return
    await new Promise<void>((changed) => {
      this.#changed = changed
    })
  }
}

/** The errors that no receiver causes. */
const OWN_FAILURES: ReadonlySet<string> = new Set(['secret_unavailable', 'service_failed'])

export function resultOf(result: AttemptResult): WebhookResult {
  if (!('status' in result)) return OWN_FAILURES.has(result.error) ? 'not_sent' : 'no_response'
  return succeeded(result) ? 'delivered' : 'rejected'
}
