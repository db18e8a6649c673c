import { setImmediate as turn } from 'node:timers/promises'
import { type EventId, makeId } from '@bonded/contract'
import { createEndpoint, updateEndpoint } from '../packages/core/src/operations/admin/webhooks.ts'
import { webhookReceiver } from '../packages/server/tests/webhook-receiver.ts'
import { harness, type TenantKeys } from '../tests/harness/harness.ts'
import { median } from './process.ts'

/**
 * Measures what a webhook endpoint costs: the CPU time of a lifecycle whose tenant has one, by that
 * of a lifecycle without, where nothing is sent; then how many deliveries a second reach one
 * endpoint and 20, and the heap meanwhile; then the same of an endpoint of which one request in a
 * hundred hangs, for a minute; then the delay of an event beside 17 tenants with two endpoints each
 * that answer after 8 s. The receivers run in the same process. A run takes two and a half minutes.
 */
const PAIRS = 20
const LIFECYCLES = 40
const WARM_UP_ROUNDS = 3
const DELIVERIES = 10_000
const PAD = 'x'.repeat(400)
const HANGING_SHARE = 0.01
const HANGING_MS = 60_000
const SLOW_TENANTS = 17
const SLOW_MS = 8_000
/** Events of the other tenant, one after the other. */
const EVENTS = 20
/** Until the lane of that tenant has ended, and the poll has to find it. */
const QUIET_MS = 700

await using receiver = await webhookReceiver()
await using slow = await webhookReceiver()
await using h = await harness({ settings: { webhookHosts: [receiver.host, slow.host] } })
const phone = await h.register()
const endpointOf = async ({ tenant }: TenantKeys, url = receiver.url) => {
  const wanted = { tenantId: tenant.id, url, events: null, scheme: 'v1' } as const
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
await measureHanging()
await measureSlowTenants()

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

async function measureDrain(count: number): Promise<void> {
  await addDeliveries(await endpointsOf(count), DELIVERIES)
  receiver.received.length = 0
  const heaps: number[] = []
  const began = performance.now()
  let sent = 0
  await untilSent(() => {
    const before = sent
    sent += receiver.received.splice(0).length
    if (Math.floor(before / 1_000) < Math.floor(sent / 1_000)) {
      globalThis.gc?.()
      heaps.push(process.memoryUsage().heapUsed / 2 ** 20)
    }
    return sent >= DELIVERIES
  })
  const rate = DELIVERIES / ((performance.now() - began) / 1_000)
  const heap = `${Math.min(...heaps).toFixed(0)} to ${Math.max(...heaps).toFixed(0)} MiB`
  console.log(`${count} endpoint(s): ${rate.toFixed(0)} deliveries a second, heap ${heap}`)
}

/** The second half of a minute counts: until the first requests time out, more places are free. */
async function measureHanging(): Promise<void> {
  const accepts = receiver.behavior.now
  let requests = 0
  receiver.behavior.now = (...given) => {
    if (++requests % (1 / HANGING_SHARE) !== 0) accepts(...given)
  }
  // More than an endpoint without such requests would get in that time.
  await addDeliveries(await endpointsOf(1), 100_000)
  receiver.received.length = 0
  const began = performance.now()
  let half = 0
  await untilSent(() => {
    const elapsedMs = performance.now() - began
    if (elapsedMs < HANGING_MS / 2) half = receiver.received.length
    return elapsedMs >= HANGING_MS
  })
  const rate = (receiver.received.length - half) / (HANGING_MS / 2_000)
  console.log(`1 % of requests hang: ${rate.toFixed(0)} requests a second`)
  receiver.behavior.now = accepts
}

async function measureSlowTenants(): Promise<void> {
  slow.behavior.now = (response) => setTimeout(() => response.writeHead(204).end(), SLOW_MS)
  for (let count = 0; count < SLOW_TENANTS; count++) {
    const keys = await h.addTenant({ name: `Slow ${count}` })
    const endpoints = [await endpointOf(keys, slow.url), await endpointOf(keys, slow.url)]
    await addDeliveries(endpoints, 1_000)
  }
  const other = await endpointsOf(1)
  await untilSent(() => slow.received.length > SLOW_TENANTS)
  const delays: number[] = []
  while (delays.length < EVENTS) {
    receiver.received.length = 0
    const quietUntil = performance.now() + QUIET_MS
    await untilSent(() => performance.now() > quietUntil)
    const began = performance.now()
    await addDeliveries(other, 1)
    await untilSent(() => receiver.received.length > 0)
    delays.push(performance.now() - began)
  }
  console.log(
    `beside ${SLOW_TENANTS} slow tenants: an event arrives after ${median(delays).toFixed(0)} ms (p50), ${Math.max(...delays).toFixed(0)} ms at most`,
  )
}

async function endpointsOf(count: number) {
  const all: Awaited<ReturnType<typeof endpointOf>>[] = []
  while (all.length < count)
    all.push(await endpointOf(await h.addTenant({ name: `Tenant ${count} ${all.length}` })))
  return all
}

async function addDeliveries(
  endpoints: Awaited<ReturnType<typeof endpointsOf>>,
  deliveries: number,
): Promise<void> {
  await h.service.store.write(function* (tables) {
    for (let count = 0; count < deliveries; count++) {
      const eventId: EventId = makeId('evt', h.service.random.id())
      const payload = JSON.stringify({ type: 'webhook.test', id: eventId, pad: PAD })
      const [endpoint] = endpoints.slice(count % endpoints.length)
      const now = h.clock.now()
      if (endpoint)
        yield* tables.webhooks.add({ endpoint, eventId, type: 'webhook.test', payload, now })
    }
  })
}

/** Moves the clock as fast as time passes: a faster one runs the maintenance more often. */
async function untilSent(isDone: () => boolean): Promise<void> {
  let at = Math.floor(performance.now())
  while (!isDone()) {
    await turn()
    const now = Math.floor(performance.now())
    h.clock.advance(now - at)
    at = now
  }
}
