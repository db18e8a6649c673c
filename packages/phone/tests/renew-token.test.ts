import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneError } from '../src/index.ts'
import { type FakeService, TOKEN_TTL_MS } from './fake-service.ts'
import { harness } from './harness.ts'

test('stores a new token and continues the session with it', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  const renewed = await phone.renewToken(claimed)
  assert.notEqual(renewed.device.device_token.reveal(), claimed.device.device_token.reveal())
  assert.equal((await phone.register()).device_token.reveal(), renewed.device.device_token.reveal())
  assert.equal((await phone.approve(renewed, { gather: strong })).session.state, 'bonded')
  // What was claimed before goes on with the new one too.
  assert.equal((await phone.getSession(claimed)).session.state, 'bonded')
})

test('repeats a token request with a new signature if its response was lost', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/token', 'no_response', 'unsent')
  const renewed = await phone.renewToken(claimed)
  const bodies = service.requests
    .filter(({ path }) => path.endsWith('/token'))
    .map(({ raw }) => raw)
  assert.equal(new Set(bodies).size, 3)
  assert.deepEqual(service.counters, [1, 3])
  assert.equal((await phone.approve(renewed, { gather: strong })).session.state, 'bonded')
})

test('keeps the old token if the new one never arrives', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/token', 'no_response', 'no_response', 'no_response', 'no_response')
  await assert.rejects(
    phone.renewToken(claimed),
    (error) => error instanceof PhoneError && error.code === 'unreachable',
  )
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
})

test('signs a rotation with the service’s time when the phone’s clock stopped', async () => {
  const { service, phone } = harness()
  const claimed = await phone.claim(service.payload)
  const behind = {
    ...claimed,
    server_time: { ...claimed.server_time, server_ms: claimed.server_time.server_ms - 3_600_000 },
  }
  assert.notEqual(
    (await phone.renewToken(behind)).device.device_token.reveal(),
    claimed.device.device_token.reveal(),
  )
})

test('renews the token by itself when it is due, once, and keeps the new one', async () => {
  const { service, phone, strong } = harness()
  const before = await phone.register()
  service.nowMs += TOKEN_TTL_MS / 2 - 1
  const early = await phone.claim(service.payload)
  assert.equal(early.device.device_token.reveal(), before.device_token.reveal())
  service.nowMs += 1
  const claimed = await phone.claim(service.payload)
  assert.notEqual(claimed.device.device_token.reveal(), before.device_token.reveal())
  await phone.claim(service.payload)
  assert.equal(tokenRequests(service), 1)
  service.change({ expires_at: new Date(service.nowMs + 300_000).toISOString() })
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
})

test('claims with the old token where the renewal that is due fails, and tries again at the next claim', async () => {
  const { service, phone } = harness()
  await phone.register()
  service.nowMs += TOKEN_TTL_MS / 2
  service.fail('/token', 'no_response')
  assert.equal((await phone.claim(service.payload)).session.state, 'pending')
  service.fail('/token', { status: 503, reason: 'overloaded' })
  assert.equal((await phone.claim(service.payload)).session.state, 'pending')
  await phone.claim(service.payload)
  assert.equal(tokenRequests(service), 3)
})

test('renews an expired token by its key and goes on as the same device', async () => {
  const { service, phone } = harness()
  const before = await phone.register()
  service.nowMs += TOKEN_TTL_MS * 2
  const claimed = await phone.claim(service.payload)
  assert.equal(claimed.device.device_id, before.device_id)
  assert.equal((await phone.register()).device_id, before.device_id)
  service.nowMs += TOKEN_TTL_MS
  assert.deepEqual(
    (await phone.listKeys()).map(({ device_id, own }) => [device_id, own]),
    [[before.device_id, true]],
  )
})

function tokenRequests({ requests }: FakeService): number {
  return requests.filter(({ path }) => path.endsWith('/token')).length
}
