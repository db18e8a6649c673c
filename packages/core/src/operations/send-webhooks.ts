import type { WebhookEndpointId } from '@bonded/contract'
import {
  type AttemptResult,
  batchSize,
  isGone,
  judgeAttempt,
  judgeEndpoint,
  LEASE_MS,
  succeeded,
} from '../domain/webhooks.ts'
import { withoutCredentials } from '../domain/redaction.ts'
import type { Clock } from '../ports/clock.ts'
import type { WebhookResult } from '../ports/meter.ts'
import type { Tables } from '../ports/store.ts'
import type { WebhookDelivery, WebhookEndpoint } from '../ports/tables/webhook-table.ts'
import type { Work } from '../ports/work.ts'
import { type Attempted, ResultRecorder } from './record-results.ts'
import type { Service } from './service.ts'

/** Reports the queue to the meter. */
export async function measureWebhooks({ clock, meter, store }: Service): Promise<void> {
  const now = clock.now()
  meter.measuredWebhooks(await store.read((tables) => tables.webhooks.figures(now)))
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

/**
 * Claims due deliveries of an endpoint, sends them at once, and stores the results. A process that
 * dies at any point loses nothing: its claims end, and another one sends the deliveries again.
 *
 * @param most the most deliveries at once
 * @returns whether the endpoint may have more
 */
export async function sendBatch(
  service: Service,
  id: WebhookEndpointId,
  { most, signal }: { readonly most: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const { clock, meter, store } = service
  const { endpoint, claimed } = await store.write((tables) => claim(tables, clock, { id, most }))
  if (endpoint === undefined || claimed.length === 0) return false
  const secrets = liveSecrets(service, endpoint)
  const recorder = new ResultRecorder(store, ({ result, verdict }) =>
    meter.attemptedWebhook(resultOf(result), verdict.state === 'failed'),
  )
  const results = await Promise.all(
    claimed.map(async (delivery) => {
      const attempted = await attempt(service, { endpoint, delivery, secrets, signal })
      if (!signal.aborted) recorder.add(attempted)
      return attempted.result
    }),
  )
  // The process stops. What it has not stored is sent again when its claim ends.
  if (signal.aborted) {
    await recorder.end()
    return false
  }
  const now = clock.now()
  const standing = judgeEndpoint(endpoint.failures, results, now)
  const change = { ...standing, now, isGone: results.some(isGone) }
  await recorder.end((tables) => tables.webhooks.recordEndpoint(endpoint, change))
  return standing.pausedUntil <= now && standing.failures === 0 && claimed.length === most
}

/** Reads the endpoint again in each batch: it can be disabled, or have a new URL or secret. */
function* claim(
  { webhooks }: Tables,
  clock: Clock,
  { id, most }: { readonly id: WebhookEndpointId; readonly most: number },
): Work<{ endpoint?: WebhookEndpoint; claimed: readonly WebhookDelivery[] }> {
  const now = clock.now()
  const endpoint = yield* webhooks.findEndpoint(id)
  if (endpoint === undefined || endpoint.disabledAt !== null || now < endpoint.pausedUntil)
    return { claimed: [] }
  const limit = batchSize(endpoint.failures, most)
  return { endpoint, claimed: yield* webhooks.claim(id, { now, until: now + LEASE_MS, limit }) }
}

async function attempt(
  { clock, random, webhooks }: Service,
  given: {
    readonly endpoint: WebhookEndpoint
    readonly delivery: WebhookDelivery
    readonly secrets: readonly string[]
    readonly signal: AbortSignal
  },
): Promise<Attempted> {
  const { endpoint, delivery, secrets, signal } = given
  const { url, scheme } = endpoint
  const at = clock.now()
  const message = { url, scheme, secrets, id: delivery.eventId, body: delivery.payload }
  const result: AttemptResult =
    secrets.length === 0 ? { error: 'secret_unavailable' } : await webhooks.send(message, signal)
  const now = clock.now()
  const verdict = judgeAttempt(result, {
    attempt: delivery.attempts + 1,
    now,
    random: (random.id()[0] ?? 0) / 0xff,
  })
  return { delivery, result, line: { ...withoutCredentials(result), at, ms: now - at }, verdict }
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
