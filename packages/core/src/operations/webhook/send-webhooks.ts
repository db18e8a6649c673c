import type { DueEndpoints, WebhookEndpoint } from '../../ports/tables/webhook-table.ts'
import type { Batch } from '../maintenance/batch.ts'
import type { Service } from '../service.ts'

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

/**
 * Endpoints for which something waits, and to which no node sends.
 *
 * @param limit of those with deliveries, the longest waiting one first
 */
export function dueEndpoints(service: Service, limit: number): Promise<DueEndpoints> {
  const now = service.clock.now()
  return service.store.read((tables) => tables.webhooks.dueEndpoints(now, limit))
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
