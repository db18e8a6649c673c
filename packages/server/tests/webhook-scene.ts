import { setImmediate as turn } from 'node:timers/promises'
import { createEndpoint, listDeliveries } from '../../core/src/operations/admin/webhooks.ts'
import type { Limits } from '../../core/src/domain/limits.ts'
import { type Meter, noMeter } from '../../core/src/ports/meter.ts'
import type { WebhookDelivery } from '../../core/src/ports/tables/webhook-table.ts'
import { type Harness, harness, type TenantKeys } from '../../../tests/harness/harness.ts'
import { webhookReceiver } from './webhook-receiver.ts'

export type Receiver = Awaited<ReturnType<typeof webhookReceiver>>

/** A service, and receivers that it may reach. */
export async function scene({
  receivers = 1,
  limits = 'off',
  meter = noMeter,
}: {
  receivers?: number
  limits?: Limits | 'off'
  meter?: Meter
} = {}) {
  const all = await Promise.all(Array.from({ length: receivers }, webhookReceiver))
  const h = await harness({
    limits,
    meter,
    settings: { webhookHosts: all.map(({ host }) => host) },
  })
  return {
    h,
    all,
    receiver: all[0] as Receiver,
    add: (given: { url?: string; scheme?: 'v1' | 'v1a'; to?: TenantKeys } = {}) =>
      createEndpoint(h.service, {
        tenantId: (given.to ?? h.shop).tenant.id,
        url: given.url ?? (all[0] as Receiver).url,
        events: null,
        scheme: given.scheme ?? 'v1',
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((receiver) => receiver[Symbol.asyncDispose]()))
      await h[Symbol.asyncDispose]()
    },
  }
}

export const logOf = async (h: Harness, keys = h.shop): Promise<readonly WebhookDelivery[]> =>
  (await listDeliveries(h.service, { tenantId: keys.tenant.id, limit: 100 })).deliveries

/** Moves the clock by half seconds until the condition holds. */
export async function until(
  h: Harness,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  while (!(await condition())) {
    h.clock.advance(500)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}
export const allEnded =
  (h: Harness, keys = h.shop) =>
  async () =>
    (await logOf(h, keys)).every(({ state }) => state !== 'pending')
export const attempted =
  (h: Harness, attempts: number, keys = h.shop) =>
  async () =>
    (await logOf(h, keys)).every((delivery) => delivery.attempts >= attempts)
