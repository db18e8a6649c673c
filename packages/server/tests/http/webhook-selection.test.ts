import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Harness } from '../../../../tests/harness/harness.ts'
import { allEnded, scene, until } from '../webhook-scene.ts'

const HOUR_MS = 3_600_000

const send = (h: Harness, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
  h.api(method, path, { token: h.shop.server, ...(body && { body }) })

/** The deliveries in the log, the oldest first, by event and endpoint. */
async function deliveriesOf(h: Harness, query = ''): Promise<readonly (readonly string[])[]> {
  const { body } = await send(h, 'GET', `/webhook-deliveries${query}`)
  const all = body.deliveries as { event_id: string; endpoint_id: string }[]
  return all.map(({ event_id, endpoint_id }) => [event_id, endpoint_id]).toReversed()
}

/** Two endpoints, each with a receiver of its own. */
async function twoEndpoints() {
  const s = await scene({ receivers: 2 })
  const [first, second] = s.all
  assert.ok(first && second)
  const { endpoint: one } = await s.add({ url: first.url })
  const { endpoint: other } = await s.add({ url: second.url })
  return { ...s, receivers: [first, second] as const, one: one.id, other: other.id }
}

test('a retry sends its event only, to the endpoint that it names or to each that has it', async () => {
  await using s = await twoEndpoints()
  const { h, receivers, other } = s
  await h.create()
  await h.create()
  await until(h, allEnded(h))
  const [[older = ''] = [], , [newer = ''] = []] = await deliveriesOf(h)
  const sent = () => receivers.map((receiver) => receiver.ids().toSorted())
  const once = [older, newer].toSorted()
  assert.deepEqual(sent(), [once, once])

  const retry = (body?: object) => send(h, 'POST', `/webhook-deliveries/${older}/retry`, body)
  assert.deepEqual((await retry({ endpoint_id: other })).body, { deliveries: 1 })
  await until(h, allEnded(h))
  const twice = [...once, older].toSorted()
  assert.deepEqual(sent(), [once, twice])
  assert.deepEqual((await retry()).body, { deliveries: 2 })
  await until(h, allEnded(h))
  assert.deepEqual(sent(), [twice, [...twice, older].toSorted()])

  const { endpoint: foreign } = await s.add({ to: await h.addTenant({ name: 'Other' }) })
  const rejected = await retry({ endpoint_id: foreign.id })
  assert.equal(rejected.body.error.reason, 'webhook_event_not_found')
})

test('an event is read with its own payload and its own deliveries', async () => {
  await using s = await twoEndpoints()
  const { h, one, other } = s
  const sessions = [await h.create(), await h.create()]
  const [first, , second] = await deliveriesOf(h)
  for (const [index, [id]] of [first ?? [], second ?? []].entries()) {
    const { deliveries } = (await send(h, 'GET', `/webhook-deliveries/${id}`)).body
    assert.deepEqual(
      deliveries.map((each: { endpoint_id: string }) => each.endpoint_id).toSorted(),
      [one, other].toSorted(),
    )
    for (const { payload } of deliveries)
      assert.equal(JSON.parse(payload).data.session.id, sessions[index]?.id)
  }
})

test('a recovery sends what its endpoint did not get since then, and leaves older events and other endpoints', async () => {
  await using s = await twoEndpoints()
  const { h, receivers, one, other } = s
  const path = (id: string) => `/webhook-endpoints/${id}`
  for (const id of [one, other]) await send(h, 'POST', path(id), { enabled: false })
  await h.create()
  h.clock.advance(HOUR_MS)
  const since = h.now()
  await h.create()
  for (const id of [one, other]) await send(h, 'POST', path(id), { enabled: true })
  const held = await deliveriesOf(h, '?state=held')
  assert.deepEqual(
    held.map(([, id]) => id),
    [one, other, one, other],
  )

  const recovered = await send(h, 'POST', `${path(other)}/recovery`, { since })
  assert.deepEqual(recovered.body, { deliveries: 1 })
  await until(h, allEnded(h))
  const sent = receivers.map((receiver) => receiver.ids())
  assert.deepEqual(sent, [[], [held[3]?.[0]]])
  assert.deepEqual(await deliveriesOf(h, '?state=held'), held.slice(0, 3))
})

test('a call about an endpoint leaves the others of the tenant as they are, and lists no foreign one', async () => {
  await using s = await twoEndpoints()
  const { h, one, other } = s
  const tenant = await h.addTenant({ name: 'Other' })
  const url = 'https://hooks.example/'
  const events = ['session.killed']
  const create = async (body: object, token = h.shop.server): Promise<string> =>
    (await h.api('POST', '/webhook-endpoints', { token, body })).body.endpoint_id
  const chosen = await create({ url, events })
  const foreign = await create({ url }, tenant.server)
  const listed = async (token = h.shop.server) => {
    const { endpoints } = (await h.api('GET', '/webhook-endpoints', { token })).body
    return endpoints as { endpoint_id: string }[]
  }
  const before = await listed()
  const idsOf = (of: typeof before) => of.map(({ endpoint_id }) => endpoint_id).toSorted()
  assert.deepEqual(idsOf(before), [one, other, chosen].toSorted())
  for (const [server, ids] of [
    [h.shop.server, idsOf(before)],
    [tenant.server, [foreign]],
  ] as const) {
    const { url: portal } = (await h.api('POST', '/webhook-portal', { token: server })).body
    for (const token of [server, new URL(portal).hash.slice(1)])
      assert.deepEqual(idsOf(await listed(token)), ids)
  }

  const path = `/webhook-endpoints/${other}`
  const changed = (await send(h, 'POST', path, { events })).body
  const { secret: _, public_key: __, ...rotated } = (await send(h, 'POST', `${path}/secret`)).body
  assert.deepEqual([changed.events, changed.previous_secret_until], [events, null])
  assert.notEqual(rotated.previous_secret_until, null)
  assert.deepEqual(
    await listed(),
    before.map((each) => (each.endpoint_id === other ? rotated : each)),
  )
  const { event_id } = (await send(h, 'POST', `${path}/test`)).body
  assert.deepEqual(await deliveriesOf(h), [[event_id, other]])
  // The others chose `session.killed`.
  await h.create()
  const created = await deliveriesOf(h, '?type=session.created')
  assert.deepEqual(
    created.map(([, id]) => id),
    [one],
  )
  assert.equal((await send(h, 'DELETE', path)).status, 204)
  assert.deepEqual(
    await listed(),
    before.filter((each) => each.endpoint_id !== other),
  )
  assert.deepEqual(idsOf(await listed(tenant.server)), [foreign])
})
