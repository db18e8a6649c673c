import type { WebhookEndpointId } from '@bonded/contract'
import {
  type Attempt,
  type AttemptResult,
  batchSize,
  isGone,
  judgeAttempt,
  judgeEndpoint,
  LEASE_MS,
  succeeded,
  type Verdict,
} from '../domain/webhooks.ts'
import { withoutCredentials } from '../domain/redaction.ts'
import type { Clock } from '../ports/clock.ts'
import type { WebhookResult } from '../ports/meter.ts'
import type { Tables } from '../ports/store.ts'
import type { WebhookDelivery, WebhookEndpoint } from '../ports/tables/webhook-table.ts'
import type { Work } from '../ports/work.ts'
import type { Batch } from './batch.ts'
import type { Service } from './service.ts'

/** Reports the queue to the meter. */
export async function measureWebhooks({ clock, meter, store }: Service): Promise<void> {
  const now = clock.now()
  meter.measuredWebhooks(await store.read((tables) => tables.webhooks.figures(now)))
}

/** Repairs the times that a clock that was ahead has stored. */
export async function repairWebhookTimes({ clock, store }: Service): Promise<Batch> {
  const done = await store.write((tables) => tables.webhooks.repairTimes(clock.now()))
  return { done, more: false }
}

function resultOf(result: AttemptResult): WebhookResult {
  if (!('status' in result)) return 'no_response'
  return succeeded(result) ? 'delivered' : 'rejected'
}

/** Endpoints with deliveries that are due, the longest waiting one first. */
export function dueEndpoints(service: Service, limit: number): Promise<readonly WebhookEndpoint[]> {
  const now = service.clock.now()
  return service.store.read((tables) => tables.webhooks.dueEndpoints(now, limit))
}

/** Deliveries of one endpoint that are sent at once. */
interface ClaimedBatch {
  readonly endpoint: WebhookEndpoint
  readonly claimed: readonly WebhookDelivery[]
}

/** An attempt, and what follows from it. */
interface Attempted {
  readonly delivery: WebhookDelivery
  readonly result: AttemptResult
  readonly line: Attempt
  readonly verdict: Verdict
}

/**
 * Sends the due deliveries of an endpoint, batch by batch, until an attempt fails or few are due.
 * One unit stores the results of a batch and claims the next one. A process that dies at any point
 * loses nothing: its claims end, and another one sends the deliveries again.
 *
 * @param given.most the most deliveries at once
 * @param given.mayClaim called before each further batch
 */
export async function sendDue(
  service: Service,
  id: WebhookEndpointId,
  given: {
    readonly most: number
    readonly signal: AbortSignal
    readonly mayClaim: () => boolean
  },
): Promise<void> {
  const { clock, meter, store } = service
  const { most, signal, mayClaim } = given
  let batch = await store.write((tables) => claim(tables, clock, { id, most }))
  while (batch !== undefined) {
    const { endpoint, claimed } = batch
    const attempts = await sendBatch(service, batch, signal)
    // Attempts that were ended by a shutdown say nothing about the endpoint.
    const isStopped = attempts.length < claimed.length
    const [now, results] = [clock.now(), attempts.map(({ result }) => result)]
    const standing = judgeEndpoint(endpoint.failures, results, now)
    const change = { ...standing, now, isGone: results.some(isGone) }
    const continues = !isStopped && standing.failures === 0 && claimed.length === most && mayClaim()
    batch = await store.write(function* (tables) {
      for (const { delivery, line, verdict } of attempts)
        yield* tables.webhooks.record(delivery, line, verdict)
      if (!isStopped) yield* tables.webhooks.recordEndpoint(endpoint, change)
      return continues ? yield* claim(tables, clock, { id, most }) : undefined
    })
    for (const { result, verdict } of attempts)
      meter.attemptedWebhook(resultOf(result), verdict.state === 'failed')
  }
}

/** Reads the endpoint again for each batch: it can be disabled, or have a new URL or secret. */
function* claim(
  { webhooks }: Tables,
  clock: Clock,
  { id, most }: { readonly id: WebhookEndpointId; readonly most: number },
): Work<ClaimedBatch | undefined> {
  const now = clock.now()
  const endpoint = yield* webhooks.findEndpoint(id)
  if (endpoint === undefined || endpoint.disabledAt !== null || now < endpoint.pausedUntil)
    return undefined
  const limit = batchSize(endpoint.failures, most)
  const claimed = yield* webhooks.claim(id, { now, until: now + LEASE_MS, limit })
  return claimed.length === 0 ? undefined : { endpoint, claimed }
}

/** @returns the attempts that ended before the signal; the claims of the others end later */
async function sendBatch(
  service: Service,
  { endpoint, claimed }: ClaimedBatch,
  signal: AbortSignal,
): Promise<readonly Attempted[]> {
  const { clock, random, webhooks } = service
  const { url, scheme } = endpoint
  const secrets = liveSecrets(service, endpoint)
  const attempts = claimed.map(async (delivery) => {
    const at = clock.now()
    const message = { url, scheme, secrets, id: delivery.eventId, body: delivery.payload }
    const result: AttemptResult =
      secrets.length === 0 ? { error: 'secret_unavailable' } : await webhooks.send(message, signal)
    if (signal.aborted) return []
    const now = clock.now()
    const verdict = judgeAttempt(result, {
      attempt: delivery.attempts + 1,
      now,
      random: (random.id()[0] ?? 0) / 0xff,
    })
    const line = { ...withoutCredentials(result), at, ms: now - at }
    return [{ delivery, result, line, verdict }]
  })
  return (await Promise.all(attempts)).flat()
}

/** The secrets of an endpoint that sign now, the current one first. */
export function liveSecrets(service: Service, endpoint: WebhookEndpoint): readonly string[] {
  const { previousUntil } = endpoint
  const secrets = secretsOf(service, endpoint)
  const isRotating = previousUntil !== null && service.clock.now() < previousUntil
  return isRotating ? secrets : secrets.slice(0, 1)
}

/** The secrets of an endpoint, the current one first. None if no listed root key opens them. */
function secretsOf({ keys }: Service, endpoint: WebhookEndpoint): readonly string[] {
  const text = keys.openWebhook(endpoint.sealedSecrets, endpoint.id)
  return text === undefined ? [] : (JSON.parse(text) as string[])
}

/**
 * Encrypts the secrets of all endpoints under the active root key, so that an earlier one can be
 * removed.
 */
export async function resealWebhooks(service: Service): Promise<void> {
  const { keys, store } = service
  const isCurrent = ({ sealedSecrets }: WebhookEndpoint) =>
    sealedSecrets.startsWith(`${keys.currentKeyId}:`)
  const endpoints = await store.read((tables) => tables.webhooks.endpoints())
  for (const endpoint of endpoints.filter((each) => !isCurrent(each))) {
    const { id, sealedSecrets: before } = endpoint
    const text = keys.openWebhook(before, id)
    if (text === undefined) continue
    const after = keys.sealWebhook(text, id)
    await store.write((tables) => tables.webhooks.resealEndpoint(id, { before, after }))
  }
}
