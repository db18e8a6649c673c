import assert from 'node:assert/strict'
import { test } from 'node:test'
import { harness } from '../../../../tests/harness/harness.ts'
import { commandsOn, setTime } from './commands-on.ts'

const HOUR_MS = 3_600_000
const URL = 'https://hooks.example/'

type Row = Readonly<Record<string, string | null>>

test('a command about webhooks has the tenant, endpoint, event, state and time that it names', async (t) => {
  await using h = await harness()
  const { json, status } = commandsOn(h)
  const late = Date.now() - HOUR_MS / 2
  const early = late - HOUR_MS
  const shop = h.shop.tenant.id
  const otherKeys = await h.addTenant({ name: 'Other' })
  const other = otherKeys.tenant.id
  const create = (tenant: string, more = '') => {
    const { endpoint_id } = json(`webhook create ${tenant} --url ${URL}${more}`)
    // What it gets is held, so that nothing is sent.
    json(`webhook update ${endpoint_id} --disable`)
    return endpoint_id as string
  }
  const [a, b, c] = [create(shop), create(shop), create(other)]
  const deliveries = (line: string): readonly Row[] => json(`webhook deliveries ${line}`)
  const pending = () =>
    [shop, other].flatMap((id) =>
      deliveries(`${id} --state pending`).map(
        ({ event_id, endpoint_id }) => `${String(event_id)} ${String(endpoint_id)}`,
      ),
    )
  const kill = async (at: number, keys = h.shop) => {
    setTime(h, at)
    const [before] = deliveries(`${keys.tenant.id} --limit 1`)
    await h.kill(await h.create(undefined, keys), keys)
    const [newest] = deliveries(`${keys.tenant.id} --limit 1`)
    assert.notDeepEqual(newest, before)
    return String(newest?.['event_id'])
  }
  const foreign = await kill(early, otherKeys)
  const old = await kill(early)
  const recent = await kill(late)
  await t.test('webhook list <tenant>', () => {
    const found = [shop, other].map((id) =>
      json(`webhook list ${id}`).map(({ endpoint_id }: Row) => endpoint_id),
    )
    assert.deepEqual(
      found.map((ids) => ids.toSorted()),
      [[a, b].toSorted(), [c]],
    )
  })
  await t.test('webhook create <tenant>', () => {
    const made = create(other)
    assert.ok(!JSON.stringify(json(`webhook list ${shop}`)).includes(made))
    json(`webhook delete ${made}`)
  })
  await t.test('webhook deliveries <tenant>', () => {
    // Of each session, its creation and its end.
    assert.deepEqual(
      [shop, other].map((id) => deliveries(id).length),
      [8, 2],
    )
    assert.ok(deliveries(other).every(({ endpoint_id }) => endpoint_id === c))
  })
  await t.test('webhook deliveries --limit', () => {
    const found = deliveries(`${shop} --limit 3`).map(({ event_id }) => event_id)
    assert.deepEqual(found.slice(0, 2), [recent, recent])
    assert.equal(found.length, 3)
  })
  await t.test('webhook delivery <event>', () => {
    for (const [event, endpoints] of [
      [old, [a, b]],
      [foreign, [c]],
    ] as const) {
      const found: readonly Row[] = json(`webhook delivery ${event}`)
      assert.ok(found.every(({ event_id }) => event_id === event))
      assert.deepEqual(new Set(found.map(({ endpoint_id }) => endpoint_id)), new Set(endpoints))
    }
  })
  await t.test('webhook retry --endpoint', () => {
    assert.deepEqual(json(`webhook retry ${old} --endpoint ${a}`), { deliveries: 1 })
    assert.deepEqual(pending(), [`${old} ${a}`])
  })
  await t.test('webhook deliveries --state', () => {
    assert.deepEqual(
      deliveries(`${shop} --state pending`).map(({ event_id }) => event_id),
      [old],
    )
    assert.equal(deliveries(`${shop} --state held`).length, 7)
    assert.deepEqual(deliveries(`${shop} --state failed`), [])
  })
  await t.test('webhook retry <event>', () => {
    assert.deepEqual(json(`webhook retry ${old}`), { deliveries: 2 })
    assert.deepEqual(pending().toSorted(), [`${old} ${a}`, `${old} ${b}`].toSorted())
  })
  await t.test('webhook recover --since', () => {
    assert.deepEqual(json(`webhook recover ${b} --since 1h`), { deliveries: 2 })
    const early = deliveries(`${shop} --state held`).filter(({ endpoint_id }) => endpoint_id === b)
    assert.equal(early.length, 1)
    assert.ok(Date.parse(String(early[0]?.['created_at'])) < late)
  })
  await t.test('webhook recover <endpoint>', () => {
    const held = deliveries(`${shop} --state held`).filter(({ endpoint_id }) => endpoint_id === a)
    assert.equal(held.length, 3)
    assert.equal(deliveries(`${other} --state held`).length, 2)
  })
  const described = (id: string) =>
    [shop, other]
      .flatMap((tenant) => json(`webhook list ${tenant}`))
      .find(({ endpoint_id }) => endpoint_id === id)
  const before = described(b)
  const untouched = (argument: string, run: () => void) =>
    t.test(argument, () => {
      run()
      assert.deepEqual(described(b), before)
    })
  await untouched('webhook update <endpoint>', () => {
    json(`webhook update ${a} --url ${URL}changed`)
    assert.equal(described(a).url, `${URL}changed`)
  })
  await untouched('webhook update --event', () => {
    json(`webhook update ${a} --event session.killed`)
    assert.deepEqual(described(a).events, ['session.killed'])
  })
  await t.test('webhook create --event', async () => {
    const made = create(shop, ' --event session.created')
    await kill(late + 1)
    const typesTo = (id: string) =>
      deliveries(shop)
        .filter(
          ({ endpoint_id, created_at }) =>
            endpoint_id === id && Date.parse(String(created_at)) > late,
        )
        .map(({ type }) => type)
    assert.deepEqual([made, a, b].map(typesTo), [
      ['session.created'],
      ['session.killed'],
      ['session.killed', 'session.created'],
    ])
  })
  await untouched('webhook rotate <endpoint>', () => {
    json(`webhook rotate ${a}`)
    assert.notEqual(described(a).previous_secret_until, null)
  })
  await untouched('webhook test <endpoint>', () => {
    const { event_id } = json(`webhook test ${a}`)
    assert.deepEqual(
      json(`webhook delivery ${event_id}`).map(({ endpoint_id }: Row) => endpoint_id),
      [a],
    )
  })
  await untouched('webhook delete <endpoint>', () => {
    json(`webhook delete ${a}`)
    assert.equal(described(a), undefined)
    assert.equal(status(`webhook delete ${a}`), 3)
  })
})
