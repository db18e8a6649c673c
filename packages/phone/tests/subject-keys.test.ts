import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEnrollment } from '../../simulator/src/enrollment.ts'
import { sha256 } from '../../simulator/src/software-key.ts'
import { memoryStateStore } from '../../simulator/src/state-file.ts'
import { createPhone, PhoneError } from '../src/index.ts'
import { jumpingClock } from './clocks.ts'
import { type FakeService, ORIGIN } from './fake-service.ts'
import { harness } from './harness.ts'

/** Another phone of the same user, at the same service. */
function secondPhone(service: FakeService) {
  const { signer, store } = openEnrollment(memoryStateStore(), ORIGIN)
  const clock = jumpingClock(90_000)
  return createPhone({ origin: ORIGIN, signer, store, sha256, fetch: service.fetch, clock })
}
const rejectedFor = (reason: string) => (error: unknown) =>
  error instanceof PhoneError && error.code === 'refused' && error.reason === reason

test('a phone adds another phone’s key to its user, and both list the same keys', async () => {
  const { service, phone, strong } = harness()
  const first = await phone.register()
  const second = secondPhone(service)
  const added = await phone.addKey(await second.proposeKey())
  assert.equal(added.subject_id, first.subject_id)
  assert.equal(JSON.stringify(added).includes(added.device_token.reveal()), false)
  const device = await second.acceptKey(added)
  assert.equal((await second.register()).device_id, device.device_id)
  assert.deepEqual(
    (await second.listKeys()).map(({ device_id, own, added_by }) => [device_id, own, added_by]),
    [
      [first.device_id, false, null],
      [device.device_id, true, first.device_id],
    ],
  )
  const claimed = await second.claim(service.payload)
  assert.equal((await second.approve(claimed, { gather: strong })).session.state, 'bonded')
})

test('does not store a key that was added at another service', async () => {
  const { service, phone } = harness()
  const second = secondPhone(service)
  const added = await phone.addKey(await second.proposeKey())
  await assert.rejects(
    second.acceptKey({ ...added, origin: 'https://elsewhere.example' }),
    (error) => error instanceof PhoneError && error.code === 'origin_not_usable',
  )
})

test('sends an addition again that was turned away, signs a lost one anew, and needs a new key where the service had it', async () => {
  const { service, phone } = harness()
  await phone.register()
  const second = secondPhone(service)
  const proposal = await second.proposeKey()
  service.fail('POST /api/v1/devices', { status: 503, reason: 'overloaded' }, 'unsent')
  await phone.addKey(proposal)
  const approvals = service.requests
    .filter(({ method, path }) => method === 'POST' && path.endsWith('/devices'))
    .map(({ raw }) => raw)
  const [, turnedAway, lost, last] = approvals
  assert.equal(approvals.length, 4)
  assert.equal(lost, turnedAway)
  assert.notEqual(last, lost)

  const third = secondPhone(service)
  const proposed = await third.proposeKey()
  service.fail('POST /api/v1/devices', 'unsent', 'no_response')
  await assert.rejects(phone.addKey(proposed), rejectedFor('challenge_not_usable'))
})

test('a phone removes a key of its user, and a lost response does not make that a failure', async () => {
  const { service, phone } = harness()
  const first = await phone.register()
  const second = secondPhone(service)
  const { device_id } = await second.acceptKey(await phone.addKey(await second.proposeKey()))
  service.fail('/removal', 'no_response')
  await phone.removeKey(device_id)
  assert.deepEqual(
    (await phone.listKeys()).map((key) => key.device_id),
    [first.device_id],
  )
  await assert.rejects(second.listKeys(), rejectedFor('credential_invalid'))
  await assert.rejects(phone.removeKey(device_id), rejectedFor('device_not_found'))
  await assert.rejects(phone.removeKey('../../x'), rejectedFor('device_not_found'))
  service.fail('/removal', 'no_response')
  await phone.removeKey(first.device_id)
  await assert.rejects(phone.listKeys(), rejectedFor('credential_invalid'))
})
