import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneError } from '../src/index.ts'
import { harness } from './harness.ts'

test('a new token is kept, used from then on, and the session goes on with it', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  const renewed = await phone.renewToken(claimed)
  assert.notEqual(renewed.device.device_token.reveal(), claimed.device.device_token.reveal())
  assert.equal((await phone.register()).device_token.reveal(), renewed.device.device_token.reveal())
  assert.equal((await phone.approve(renewed, { gather: strong })).session.state, 'bonded')
  // The old one has ended with the first use of the new one.
  await assert.rejects(
    phone.look(claimed),
    (error) => error instanceof PhoneError && error.reason === 'credential_invalid',
  )
})

test('a new token whose answer was lost is asked for again, signed anew, and the old one serves meanwhile', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/token', 'unanswered', 'unsent')
  const renewed = await phone.renewToken(claimed)
  const bodies = service.requests
    .filter(({ path }) => path.endsWith('/token'))
    .map(({ raw }) => raw)
  assert.equal(new Set(bodies).size, 3)
  assert.deepEqual(service.counters, [1, 3])
  assert.equal((await phone.approve(renewed, { gather: strong })).session.state, 'bonded')
})

test('a new token that never came leaves the phone with its old one', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  service.fail('/token', 'unanswered', 'unanswered', 'unanswered', 'unanswered')
  await assert.rejects(
    phone.renewToken(claimed),
    (error) => error instanceof PhoneError && error.code === 'unreachable',
  )
  assert.equal((await phone.approve(claimed, { gather: strong })).session.state, 'bonded')
})

test('a phone whose clock stood still signs for its token by the time that the service tells', async () => {
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
