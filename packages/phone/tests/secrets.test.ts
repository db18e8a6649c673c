import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { PhoneError } from '../src/index.ts'
import { harness } from './harness.ts'

test('sends a device token only in the authorization header', async () => {
  const { service, phone } = harness()
  const device = await phone.register()
  const token = device.device_token.reveal()
  assert.match(token, /^dt_/)
  for (const printed of [
    JSON.stringify(device),
    inspect(device, { depth: 9, showHidden: true }),
    String(device.device_token),
    Object.values(device).join(),
  ]) {
    assert.ok(!printed.includes(token))
    assert.ok(printed.includes('[secret]'))
  }
  await phone.claim(service.payload)
  const last = service.requests.at(-1)
  assert.equal(last?.authorization, `Bearer ${token}`)
  assert.ok(!`${last?.path}${last?.raw}`.includes(token))
})

test('an error carries code, reason, status and request id, and no token', async () => {
  const { service, phone } = harness()
  const { device_token } = await phone.register()
  service.fail('/claim', { status: 400, reason: 'session_claimed' })
  const error = await phone.claim(service.payload).catch((caught: unknown) => caught)
  assert.ok(error instanceof PhoneError)
  assert.deepEqual([error.code, error.reason, error.status], ['refused', 'session_claimed', 400])
  assert.match(error.request_id ?? '', /^req_/)
  assert.ok(!inspect(error, { depth: 9 }).includes(device_token.reveal()))
})
