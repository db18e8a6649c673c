import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubjectId } from '@bonded/contract'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { asTestRoots, webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import { type Harness, harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import {
  approvalRequest,
  newKey,
  type TestPhone,
  tokenRequest,
} from '../../../../tests/harness/phone.ts'

const DAY_MS = 24 * 60 * 60_000
const TTL_MS = 10 * DAY_MS
const setUp = () => harness({ attestation: asTestRoots, settings: { deviceTokenTtlMs: TTL_MS } })

const rotate = (h: Harness, phone: TestPhone, body = tokenFor(h, phone)) =>
  h.api('POST', `/devices/${phone.device_id}/token`, { token: phone.device_token, body })
const tokenFor = (h: Harness, phone: TestPhone) =>
  tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN })
const reasonOf = (reply: { body?: { error?: { reason?: string } } }) => reply.body?.error?.reason
const read = (h: Harness, phone: TestPhone, token = phone.device_token) =>
  h.api('GET', `/devices/${phone.device_id}`, { token })

test('a device token expires after its lifetime, with its own reason and the time of the service', async () => {
  await using h = await setUp()
  const phone = await h.register()
  h.clock.advance(TTL_MS - 1)
  assert.equal((await read(h, phone)).status, 200)
  const session = await h.create()
  h.clock.advance(1)
  const expired = await h.claim(phone, session)
  assert.deepEqual([expired.status, reasonOf(expired)], [401, 'device_token_expired'])
  assert.equal(expired.body.error.server_time, h.now())
  for (const path of ['/devices', `/devices/${phone.device_id}`])
    assert.equal(
      reasonOf(await h.api('GET', path, { token: phone.device_token })),
      'device_token_expired',
    )
})

test('rejects an expired token for adding or removing a key, even with an assertion', async () => {
  await using h = await setUp()
  const phone = await h.register()
  h.clock.advance(TTL_MS)
  assert.equal(reasonOf(await h.removeKey(phone)), 'device_token_expired')
  const { body } = await h.registration()
  const approval = approvalRequest(phone, body, h.now(), { origin: PUBLIC_ORIGIN })
  const added = await h.api('POST', '/devices', {
    token: phone.device_token,
    body: { ...body, approval },
  })
  assert.equal(reasonOf(added), 'device_token_expired')
})

test('exchanges an expired token only against an assertion of the device’s key', async () => {
  await using h = await setUp()
  const phone = await h.register()
  h.clock.advance(TTL_MS * 3)
  const thief = tokenRequest(phone, h.now(), {
    origin: PUBLIC_ORIGIN,
    privateKey: newKey().privateKey,
  })
  assert.equal(reasonOf(await rotate(h, phone, thief)), 'assertion_invalid')
  const wrong = { ...phone, device_token: `${phone.device_token.slice(0, -4)}0000` }
  assert.equal(reasonOf(await rotate(h, wrong)), 'credential_invalid')
  const rotated = await rotate(h, phone)
  assert.equal(rotated.status, 201, rotated.text)
  assert.deepEqual(
    [rotated.body.device_token_renew_at, rotated.body.device_token_expires_at],
    [TTL_MS / 2, TTL_MS].map((ms) => new Date(h.clock.now() + ms).toISOString()),
  )
  const renewed = { ...phone, device_token: rotated.body.device_token }
  assert.equal((await read(h, renewed)).body.subject_id, phone.subject_id)
  h.clock.advance(TTL_MS - 1)
  assert.equal((await read(h, renewed)).status, 200)
})

test('an offered token has its own lifetime, whether or not it is used', async () => {
  await using h = await setUp()
  const phone = await h.register()
  h.clock.advance(TTL_MS - DAY_MS)
  const { device_token: offered } = (await rotate(h, phone)).body
  h.clock.advance(DAY_MS)
  assert.equal(reasonOf(await read(h, phone)), 'device_token_expired')
  h.clock.advance(TTL_MS - DAY_MS)
  assert.equal(reasonOf(await read(h, phone, offered)), 'device_token_expired')
  // Expired, it still names the device; its first use ends the older one.
  assert.equal((await rotate(h, { ...phone, device_token: offered })).status, 201)
  assert.equal(reasonOf(await rotate(h, phone)), 'credential_invalid')
})

test('a blocked subject gets no new token', async () => {
  await using h = await setUp()
  const phone = await h.register()
  await changeSubject(h.service, phone.subject_id as SubjectId, 'block')
  assert.equal(reasonOf(await rotate(h, phone)), 'device_not_usable')
})

/** A browser's key that always reports counter 0, as synced passkeys do. */
async function uncounted(h: Harness): Promise<TestPhone> {
  const phone = await h.register(undefined, webauthnKey())
  const sign = phone.attested?.assert.bind(phone.attested)
  assert.ok(phone.attested && sign)
  const assertAtZero: NonNullable<TestPhone['attested']>['assert'] = (payload, tampering) =>
    sign(payload, { ...tampering, counter: 0 })
  return { ...phone, attested: { ...phone.attested, assert: assertAtZero } }
}

test('of a key that does not count, a token request is accepted once, whatever came after it', async () => {
  await using h = await setUp()
  const phone = await uncounted(h)
  const first = tokenFor(h, phone)
  assert.equal((await rotate(h, phone, first)).status, 201)
  assert.equal(reasonOf(await rotate(h, phone, first)), 'assertion_invalid')
  h.clock.advance(1_000)
  const second = tokenFor(h, phone)
  assert.equal((await rotate(h, phone, second)).status, 201)
  // An older one does not come back once a newer one was accepted.
  for (const body of [first, second])
    assert.equal(reasonOf(await rotate(h, phone, body)), 'assertion_invalid')
  assert.equal((await read(h, phone)).body.status, 'active')
})

test('of ten equal token requests at once of a key that does not count exactly one is accepted', async () => {
  await using h = await setUp()
  const phone = await uncounted(h)
  const body = tokenFor(h, phone)
  const replies = await Promise.all(Array.from({ length: 10 }, () => rotate(h, phone, body)))
  assert.equal(replies.filter(({ status }) => status === 201).length, 1)
})

test('a bond of a key that does not count leaves its token requests alone, and they leave its bonds alone', async () => {
  await using h = await setUp()
  const phone = await uncounted(h)
  const early = tokenFor(h, phone)
  h.clock.advance(1_000)
  for (const body of [undefined, early]) {
    const session = await h.create()
    const view = (await h.claim(phone, session)).body
    assert.equal((await h.attest(phone, view)).body.state, 'bonded')
    if (body === undefined) assert.equal((await rotate(h, phone, early)).status, 201)
  }
})
