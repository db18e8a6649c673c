import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TimelineEntry } from '@bonded/contract'
import { asTestRoots, ATTESTED_KEYS } from '../../../../tests/harness/attested-phones.ts'
import { type Harness, harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import {
  type Tampering,
  newKey,
  type TestPhone,
  tokenRequest,
} from '../../../../tests/harness/phone.ts'

const FORMATS = [...ATTESTED_KEYS, ['software', () => undefined]] as const
const setUp = () => harness({ attestation: asTestRoots })

const ask = (h: Harness, phone: TestPhone, tampering: Tampering & { origin?: string } = {}) =>
  h.api('POST', `/devices/${phone.device_id}/token`, {
    token: phone.device_token,
    body: tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN, ...tampering }),
  })
const opens = async (h: Harness, phone: TestPhone, token: string) =>
  (await h.api('GET', `/devices/${phone.device_id}`, { token })).status === 200
const eventsOf = async (h: Harness, { device_id }: TestPhone) =>
  (await h.service.store.read((tables) => tables.devices.events(device_id as never))).map(
    ({ kind }) => kind,
  )

for (const [format, makeKey] of FORMATS) {
  test(`${format}: a phone gets a new token by its key; the old one works until the new one is used, and never after`, async () => {
    await using h = await setUp()
    const phone = await h.register(undefined, makeKey())
    const session = await h.create()
    await h.claim(phone, session)
    const rotated = await ask(h, phone)
    assert.equal(rotated.status, 201, rotated.text)
    const { device_token: made } = rotated.body
    assert.match(made, /^dt_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}$/)
    // The response may have been lost, so a phone that has only the old token continues with it.
    assert.equal(await opens(h, phone, phone.device_token), true)
    assert.equal(await opens(h, phone, made), true)
    assert.equal(await opens(h, phone, phone.device_token), false)
    const renewed = { ...phone, device_token: made }
    assert.equal((await h.attest(renewed, await h.view(renewed, session))).body.state, 'bonded')
    assert.deepEqual(await eventsOf(h, phone), ['registered', 'token_offered', 'token_rotated'])
    const { entries } = (
      await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
    ).body
    assert.equal(
      entries.filter(({ reason }: TimelineEntry) => reason === 'device_token_rotated').length,
      1,
    )
  })
}

test('accepts only the last of several tokens whose responses were lost', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const made: string[] = []
  for (let count = 0; count < 3; count++) made.push((await ask(h, phone)).body.device_token)
  const [first = '', second = '', last = ''] = made
  assert.deepEqual([await opens(h, phone, first), await opens(h, phone, second)], [false, false])
  assert.deepEqual(
    [await opens(h, phone, phone.device_token), await opens(h, phone, last)],
    [true, true],
  )
  assert.equal(await opens(h, phone, phone.device_token), false)
})

test('accepts all concurrent first uses of a token, and exchanges it once', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const { device_token: made } = (await ask(h, phone)).body
  const served = await Promise.all(Array.from({ length: 12 }, () => opens(h, phone, made)))
  assert.deepEqual(served, Array(12).fill(true))
  assert.deepEqual(await eventsOf(h, phone), ['registered', 'token_offered', 'token_rotated'])
})

test('issues no token to a caller without the key, and the phone keeps its own', async () => {
  await using h = await setUp()
  for (const [format, makeKey] of FORMATS) {
    const phone = await h.register(undefined, makeKey())
    const other = newKey().privateKey
    const wrongs: readonly (Tampering & { origin?: string })[] = [
      { privateKey: other },
      { origin: 'https://elsewhere.example' },
      { appId: 'other' },
      { hash: Buffer.alloc(32) },
    ]
    for (const wrong of wrongs)
      assert.equal((await ask(h, phone, wrong)).body.error.reason, 'assertion_invalid', format)
    assert.equal(await opens(h, phone, phone.device_token), true)
    assert.deepEqual(await eventsOf(h, phone), ['registered'])
  }
})

test('accepts a token request once, near its time, and only from the device itself', async () => {
  await using h = await setUp()
  const [phone, stranger] = [await h.register(), await h.register()]
  const body = tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN })
  const send = (token = phone.device_token) =>
    h.api('POST', `/devices/${phone.device_id}/token`, { token, body })
  assert.equal((await send(stranger.device_token)).body.error.reason, 'device_not_found')
  assert.equal((await send()).status, 201)
  // A repetition is the network's doing.
  assert.equal((await send()).body.error.reason, 'assertion_invalid')
  const late = tokenRequest(phone, new Date(h.clock.now() - 120_001).toISOString(), {
    origin: PUBLIC_ORIGIN,
  })
  const rejected = await h.api('POST', `/devices/${phone.device_id}/token`, {
    token: phone.device_token,
    body: late,
  })
  assert.equal(rejected.body.error.reason, 'issued_at_out_of_range')
  assert.equal(rejected.body.error.server_time, h.now())
  assert.equal(
    (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body.status,
    'active',
  )
})

test('detects a copied key that requests a token by its counter', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const copy = { ...phone }
  assert.equal((await ask(h, phone)).status, 201)
  h.clock.advance(1_000)
  assert.equal((await ask(h, copy)).body.error.reason, 'assertion_invalid')
  assert.deepEqual(await eventsOf(h, phone), ['registered', 'token_offered', 'suspect'])
})

test('stores a token as a hash, also before its first use', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const { device_token: made } = (await ask(h, phone)).body
  const row = await h.service.store.read((tables) => tables.devices.findByToken(made.slice(3, 13)))
  assert.deepEqual(
    [
      row?.offered,
      Buffer.from(row?.token.hash ?? []).equals(Buffer.from(h.service.keys.digest(made))),
    ],
    [true, true],
  )
})
