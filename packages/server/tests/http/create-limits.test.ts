import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLimits, USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import type { Harness } from '../../../../tests/harness/harness.ts'
import { assertLimited, countUnlimited, limited, post, REQUEST } from './counted-calls.ts'

test('creates 100 sessions at once and then 10 a second for a server credential, and counts each credential apart', async () => {
  await using h = await limited()
  assert.equal(await countUnlimited(100, () => post(h)), 100)
  assertLimited(await post(h), 'create', 1)
  const second = await h.addKeys(h.shop.tenant, null)
  const other = await post(h, second)
  assert.deepEqual(
    [other.status, other.headers.ratelimit, other.headers['ratelimit-policy']],
    [201, '"create";r=99;t=1', '"create";q=600;w=60;burst=100'],
  )
  h.clock.advance(1_000)
  assert.equal(await countUnlimited(20, () => post(h)), 10)
})

test('writes no session and no Idempotency-Key when a create is rate limited', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('create=60/1') } })
  const stored = () =>
    h.service.store.read((tables) =>
      tables.sessions.list({ tenantId: h.shop.tenant.id, limit: 1_000 }),
    )
  await post(h)
  const before = await stored()
  const rejected = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: REQUEST,
    headers: { 'idempotency-key': 'one' },
  })
  assert.equal(rejected.status, 429)
  assert.deepEqual(await stored(), before)
  h.clock.advance(1_000)
  // The key is still unused, so another body may use it.
  const again = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'wire_transfer', action: 'approve_wire' },
    headers: { 'idempotency-key': 'one' },
  })
  assert.equal(again.status, 201)
})

test('creates 60 sessions a minute for one end user address, and leaves the remaining creates to other users', async () => {
  await using h = await limited()
  const from = (end_user_address: string) => post(h, h.shop, { ...REQUEST, end_user_address })
  assert.equal(await countUnlimited(80, () => from('192.0.2.1')), 60)
  assertLimited(await from('192.0.2.1'), 'create_address', 1)
  const other = await from('192.0.2.2')
  assert.equal(other.headers.ratelimit, '"create_address";r=59;t=1, "create";r=39;t=1')
  const elsewhere = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  assert.equal(
    (await post(h, elsewhere, { ...REQUEST, end_user_address: '192.0.2.1' })).status,
    201,
  )
})

const createFor = (h: Harness, end_user_address: string) =>
  post(h, h.shop, { ...REQUEST, end_user_address })
/** The create limit raised, so that only the limit of the addresses counts. */
const ADDRESSES_ONLY = { ...USUAL_LIMITS, ...parseLimits('create=600000/100000') }
const hex = (number: number) => number.toString(16)

test('counts the end users of one IPv6 /64 as one', async () => {
  await using h = await limited()
  assert.equal(await countUnlimited(70, (index) => createFor(h, `2001:db8:0:1::${hex(index)}`)), 60)
  assert.equal((await createFor(h, '2001:0DB8::1:0:0:0:9')).status, 429)
  assert.equal((await createFor(h, '2001:db8:0:2::1')).status, 201)
})

test('creates at most 120 sessions a minute for one IPv6 /56, from all its /64 together', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(
    await countUnlimited(256, (index) => createFor(h, `2001:db8:0:${hex(index)}::1`)),
    120,
  )
  assertLimited(await createFor(h, '2001:db8:0:ff::2'), 'create_address', 1)
  assert.equal((await createFor(h, '2001:db8:0:100::1')).status, 201, 'another /56')
})

test('creates at most 480 sessions a minute for one IPv6 /48, from all its /56 together', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(
    await countUnlimited(512, (index) => createFor(h, `2001:db8:0:${hex(index * 128)}::1`)),
    480,
  )
  assert.equal((await createFor(h, '2001:db8:1:1::1')).status, 201, 'another /48')
})

test('takes no unit of a /56 when it rejects a create of one of its /64', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  assert.equal(
    await countUnlimited(200, (index) => createFor(h, `2001:db8:0:1::${hex(index)}`)),
    60,
  )
  assert.equal(await countUnlimited(70, (index) => createFor(h, `2001:db8:0:2::${hex(index)}`)), 60)
})

test('counts an IPv4 address written as IPv6 together with the IPv4 address', async () => {
  await using h = await limited({ limits: ADDRESSES_ONLY })
  const spellings = ['10.0.0.1', '::ffff:10.0.0.1', '::ffff:0a00:1', '::FFFF:A00:1']
  assert.equal(
    await countUnlimited(80, (index) => createFor(h, spellings[index % 4] as string)),
    60,
  )
  assert.equal((await createFor(h, '::ffff:0a00:2')).status, 201)
})

test('reserves a quarter of the create limit for networks that a tenant has not seen recently', async () => {
  await using h = await limited()
  const home = (index: number) => createFor(h, `2001:db8:0:${hex(index % 256)}::1`)
  // The first four come from two /64 of a /56 that is still new to the tenant.
  assert.equal(await countUnlimited(100, home), 75)
  assertLimited(await home(7), 'create', 1)
  for (let user = 1; user <= 25; user++)
    assert.equal((await createFor(h, `192.0.2.${user}`)).status, 201, `user ${user}`)
  assert.equal((await createFor(h, '192.0.2.99')).status, 429, 'the reserved quarter is used up')
})

test('serves other users for ten minutes while one home connection floods creates', async () => {
  await using h = await limited()
  for (let step = 0; step < 8; step++) {
    // More than the part of the burst that known networks can use. It refills within a step.
    await countUnlimited(80, (index) =>
      createFor(h, `2001:db8:0:${hex((step * 20 + index) % 256)}::1`),
    )
    const other = await createFor(h, `198.51.${step}.1`)
    assert.equal(other.status, 201, `after ${step * 75} s`)
    h.clock.advance(75_000)
  }
})

test('treats a network as new again five minutes after its creates', async () => {
  await using h = await limited({ limits: { ...USUAL_LIMITS, ...parseLimits('create=1/4') } })
  assert.equal(await countUnlimited(9, () => createFor(h, '192.0.2.1')), 3)
  assert.equal((await createFor(h, '192.0.2.2')).status, 201)
  // Five minutes refill the bucket of four. Other users then take three units.
  h.clock.advance(300_000)
  for (const user of [3, 4, 5]) await createFor(h, `192.0.2.${user}`)
  assert.equal((await createFor(h, '192.0.2.1')).status, 201)
})

test('applies the whole create limit to a backend that names no end user address', async () => {
  await using h = await limited()
  assert.equal(await countUnlimited(120, () => post(h)), 100)
})

test('counts an IPv4 end user in IPv6 notations as one', async () => {
  await using h = await limited()
  const from = (end_user_address: string) => post(h, h.shop, { ...REQUEST, end_user_address })
  const spellings = ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:c000:0201']
  assert.equal(
    await countUnlimited(80, (index) => from(spellings[index % spellings.length] ?? '')),
    60,
  )
  assert.equal((await from('::ffff:c000:202')).status, 201)
})
