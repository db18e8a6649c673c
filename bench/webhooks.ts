import { setImmediate as turn } from 'node:timers/promises'
import { type EventId, makeId } from '@bonded/contract'
import { createEndpoint, updateEndpoint } from '../packages/core/src/operations/admin/webhooks.ts'
import { webhookReceiver } from '../packages/server/tests/webhook-receiver.ts'
import { harness, type TenantKeys } from '../tests/harness/harness.ts'
import { median } from './process.ts'

/**
 * Measures what a webhook endpoint costs: the CPU time of a lifecycle whose tenant has one, by that
 * of a lifecycle without, where nothing is sent; then how many deliveries a second reach one
 * endpoint and 20, and the heap meanwhile. The receiver runs in the same process. A run takes a
 * minute.
 */
const PAIRS = 20
const LIFECYCLES = 40
const WARM_UP_ROUNDS = 3
const DELIVERIES = 10_000
const PAD = 'x'.repeat(400)

await using receiver = await webhookReceiver()
await using h = await harness({ webhookHosts: [receiver.host] })
const phone = await h.register()
const endpointOf = async ({ tenant }: TenantKeys) => {
  const wanted = { tenantId: tenant.id, url: receiver.url, events: null, scheme: 'v1' } as const
  return (await createEndpoint(h.service, wanted)).endpoint
}

const notified = await h.addTenant({ name: 'Notified' })
await updateEndpoint(h.service, (await endpointOf(notified)).id, { enabled: false })
for (let round = 0; round < WARM_UP_ROUNDS; round++) await measurePair(false)
const ratios: number[] = []
for (let pair = 0; pair < PAIRS; pair++) ratios.push(await measurePair(pair % 2 === 0))
console.log(
  `a lifecycle with an endpoint, by one without: ${median(ratios).toFixed(3)} (${PAIRS} pairs, ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
)
for (const endpoints of [1, 20]) await measureDrain(endpoints)

async function measurePair(isReversed: boolean): Promise<number> {
  const [one, other] = isReversed ? [notified, h.shop] : [h.shop, notified]
  const [first, second] = [await cpuOf(one), await cpuOf(other)]
  return isReversed ? first / second : second / first
}

/** The CPU microseconds of a lifecycle. */
async function cpuOf(keys: TenantKeys): Promise<number> {
  const before = process.cpuUsage()
  for (let count = 0; count < LIFECYCLES; count++) {
    const session = await h.create(undefined, keys)
    await h.claim(phone, session)
    await h.attest(phone, await h.view(phone, session))
    await h.get(session, keys)
    const { status } = await h.complete(session, {}, keys)
    if (status !== 200) throw new Error(`completion answered ${status}`)
    // Two assertions of one phone are signed at different times.
    h.clock.advance(1)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / LIFECYCLES
}

async function measureDrain(endpoints: number): Promise<void> {
  const all: Awaited<ReturnType<typeof endpointOf>>[] = []
  for (let count = 0; count < endpoints; count++)
    all.push(await endpointOf(await h.addTenant({ name: `Tenant ${endpoints} ${count}` })))
  await h.service.store.write(function* (tables) {
    for (let count = 0; count < DELIVERIES; count++) {
      const eventId: EventId = makeId('evt', h.service.random.id())
      const payload = JSON.stringify({ type: 'webhook.test', id: eventId, pad: PAD })
      const [endpoint] = all.slice(count % endpoints)
      const now = h.clock.now()
      if (endpoint)
        yield* tables.webhooks.add({ endpoint, eventId, type: 'webhook.test', payload, now })
    }
  })
  receiver.received.length = 0
  const heaps: number[] = []
  const began = performance.now()
  let at = Math.floor(began)
  for (let count = 0; count < DELIVERIES; await turn()) {
    const before = count
    count += receiver.received.splice(0).length
    if (Math.floor(before / 1_000) < Math.floor(count / 1_000)) {
      globalThis.gc?.()
      heaps.push(process.memoryUsage().heapUsed / 2 ** 20)
    }
    // As fast as time passes: a faster clock runs the maintenance more often than in a service.
    const now = Math.floor(performance.now())
    h.clock.advance(now - at)
    at = now
  }
  const rate = DELIVERIES / ((performance.now() - began) / 1_000)
  const heap = `${Math.min(...heaps).toFixed(0)} to ${Math.max(...heaps).toFixed(0)} MiB`
  console.log(`${endpoints} endpoint(s): ${rate.toFixed(0)} deliveries a second, heap ${heap}`)
}
