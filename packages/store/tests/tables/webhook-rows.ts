import assert from 'node:assert/strict'
import type { EventId, TenantId, WebhookEndpointId } from '@bonded/contract'
import type { Attempt, DeliveryState } from '../../../core/src/domain/webhooks.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import type { WebhookEndpoint } from '../../../core/src/ports/tables/webhook-table.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import type { TableDriver } from './table-drivers.ts'
import { NOW, TENANTS } from './table-operations.ts'

export const [tenantId, otherTenant] = TENANTS as [TenantId, TenantId]
export const endpointId = (name: string) => `we_${name}` as WebhookEndpointId
export const eventId = (name: string) => `evt_${name}` as EventId

/** An endpoint that was just created. */
export function endpoint(name: string, given: Partial<WebhookEndpoint> = {}): WebhookEndpoint {
  return {
    id: endpointId(name),
    tenantId,
    url: `https://${name}.example`,
    events: null,
    scheme: 'v1',
    loggedCharacters: 80,
    sealedSecrets: `secrets of ${name}`,
    previousUntil: null,
    createdAt: NOW,
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    pausedUntil: 0,
    leasedUntil: 0,
    auditPosition: 0,
    ...given,
  }
}

export const write = <T>(driver: TableDriver, unit: (webhooks: Tables['webhooks']) => Work<T>) =>
  driver.write(({ webhooks }) => unit(webhooks))

/** Adds endpoints in an order that is not that of their names or times. */
export async function withEndpoints(driver: TableDriver, ...all: readonly WebhookEndpoint[]) {
  for (const each of all) await write(driver, (webhooks) => webhooks.addEndpoint(each))
}

export const find = (driver: TableDriver, name: string) =>
  write(driver, (webhooks) => webhooks.findEndpoint(endpointId(name)))

export function add(driver: TableDriver, to: WebhookEndpoint, name: string, now = NOW) {
  return write(driver, (webhooks) =>
    webhooks.add({
      endpoint: to,
      eventId: eventId(name),
      type: 'session.bonded',
      payload: `payload of ${name}`,
      now,
    }),
  )
}

export const deliveriesOf = (driver: TableDriver, name: string) =>
  write(driver, (webhooks) => webhooks.deliveriesOf(eventId(name)))

/** The one delivery of an event. */
export async function deliveryOf(driver: TableDriver, name: string) {
  const [found, ...others] = await deliveriesOf(driver, name)
  assert.equal(others.length, 0)
  return found ?? assert.fail(`no delivery of ${name}`)
}

/** Stores a state with its time, as an attempt does. */
export async function store(
  driver: TableDriver,
  name: string,
  state: DeliveryState,
  dueAt: number | null,
) {
  const attempt: Attempt = { at: NOW + 1, ms: 5, status: 500, body: 'no' }
  const delivery = await deliveryOf(driver, name)
  await write(driver, (webhooks) => webhooks.record(delivery, attempt, { state, dueAt }))
}
