import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, SubjectId } from '@bonded/contract'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { changeSubject } from '@bonded/core/operations/admin/subjects'
import { eraseSubject } from '@bonded/core/operations/admin/erase-subject'
import { exportSubject } from '@bonded/core/operations/admin/export-subject'
import { reportWakeUps } from '@bonded/core/operations/admin/report-wake-ups'
import { webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import { PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import {
  bondedUser,
  HOUR,
  INBOX_WORKFLOWS,
  inboxHarness,
  pushRequest,
} from '../../../../tests/harness/inbox.ts'
import { newKey, recoveryRequest } from '../../../../tests/harness/phone.ts'
import { pushService } from '../../../../tests/harness/push-service.ts'

const OTHER_KEY = { id: 'k2', bytes: Buffer.alloc(32, 9) }

type Scene = Awaited<ReturnType<typeof subscribed>>

/** A user whose phone is subscribed at a push service of this machine. */
async function subscribed(options: Parameters<typeof inboxHarness>[0] = {}) {
  const service = await pushService()
  const scene = await inboxHarness({ push: (clock) => service.transport(clock), ...options })
  const push = async () => (await scene.open()).body.push
  const endpoint = service.subscribe('phone', (await push()).public_key)
  assert.equal((await scene.setPush(scene.phone, endpoint)).status, 204)
  /** The wake-ups that the service decides on, before any is sent. */
  const decided = () => {
    const endpoints: string[] = []
    scene.h.service.wakeUps.listen((all) => endpoints.push(...all.map((each) => each.endpoint)))
    return endpoints
  }
  return {
    ...scene,
    service,
    push,
    endpoint,
    decided,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

test('a request wakes the phone of its user once, by a message that another implementation accepts', async () => {
  await using scene = await subscribed()
  const { service, tryCreate, h } = scene
  assert.equal((await scene.push()).is_on, true)
  const key = { 'idempotency-key': 'one' }
  assert.equal((await tryCreate({ workflow: 'day' }, h.shop.server, key)).status, 201)
  await service.reached(1)
  assert.deepEqual(service.received, ['/send/phone'])
  // A repeated call sends no reminder, also hours later.
  h.clock.advance(3 * HOUR)
  const decided = scene.decided()
  assert.equal((await tryCreate({ workflow: 'day' }, h.shop.server, key)).status, 201)
  assert.deepEqual(decided, [])
})

for (const status of [401, 403, 404, 410])
  test(`a push service that answers ${status} ends the subscription`, async () => {
    await using scene = await subscribed()
    scene.service.status.now = status
    await scene.tryCreate()
    await scene.service.reached(1)
    while ((await scene.push()).is_on) await new Promise(setImmediate)
    assert.match(JSON.stringify(await timeline(scene)), /push_off.+push_service/)
  })

for (const status of [302, 429, 500])
  test(`a push service that answers ${status} loses no request, and gets no second message`, async () => {
    await using scene = await subscribed()
    scene.service.status.now = status
    await scene.tryCreate()
    await scene.service.reached(1)
    assert.equal((await scene.push()).is_on, true)
    assert.equal(await scene.count(), 1)
    assert.deepEqual(scene.service.received, ['/send/phone'])
  })

test('a rotated root key silences no phone', async () => {
  const rootKeys = [ROOT_KEY]
  await using scene = await subscribed({ rootKeys })
  const { public_key } = await scene.push()
  for (const listed of [[ROOT_KEY, OTHER_KEY], [OTHER_KEY, ROOT_KEY], [OTHER_KEY]]) {
    rootKeys.splice(0, 2, ...listed)
    await scene.h.restart()
    assert.deepEqual(await scene.push(), { public_key, is_on: true })
  }
  await scene.tryCreate()
  await scene.service.reached(1)
  assert.deepEqual(scene.service.received, ['/send/phone'])
})

test('a key that no root key opens is replaced, and the phones subscribe again', async () => {
  await using scene = await subscribed()
  const { public_key } = await scene.push()
  const { service } = scene.h
  const says = 'Phones that have subscribed: 1.'
  assert.deepEqual(await reportWakeUps(service), { says, warnings: [] })
  await service.store.write(function* ({ push }) {
    yield* push.storeKey('k9:AAAA', yield* push.key())
  })
  const report = await reportWakeUps(service)
  assert.equal(report?.says, says)
  assert.match(report?.warnings.join() ?? '', /^No listed root key opens the key of wake-ups\./)
  assert.equal(await scene.push(), null)
  await scene.h.restart()
  assert.notEqual((await scene.push()).public_key, public_key)
  await scene.tryCreate()
  await scene.service.reached(1)
  assert.deepEqual(scene.service.received, ['the key of another service'])
})

test('removal, block, recovery and the user end a subscription', async () => {
  const ends: readonly ((scene: Scene) => Promise<unknown>)[] = [
    ({ h, phone }) => h.removeKey(phone),
    ({ h, phone }) => moveDevice(h.service, phone.device_id as DeviceId, 'block'),
    ({ h, phone }) => changeSubject(h.service, phone.subject_id as SubjectId, 'block'),
    ({ setPush, phone }) => setPush(phone, null),
    async ({ h, phone }) => {
      const { challenge } = (await h.api('POST', '/devices/challenges')).body
      const body = recoveryRequest(phone, challenge, { origin: PUBLIC_ORIGIN })
      assert.equal((await h.api('POST', '/devices/recovery', { body })).status, 201)
    },
  ]
  for (const end of ends) {
    await using scene = await subscribed()
    const { h, setPush, endpoint } = scene
    const phone = await h.register(undefined, webauthnKey('unattested'))
    assert.equal((await setPush(phone, endpoint)).status, 204)
    assert.equal(await endpointOf(scene, phone), endpoint)
    await end({ ...scene, phone })
    assert.equal(await endpointOf(scene, phone), undefined)
  }
})

test('a copy of the user has the endpoint, and an erasure deletes it', async () => {
  await using scene = await subscribed()
  const { h, phone } = scene
  const user = phone.subject_id as SubjectId
  assert.ok(JSON.stringify(await exportSubject(h.service, user)).includes(scene.endpoint))
  await eraseSubject(h.service, user)
  assert.equal(await endpointOf(scene), undefined)
})

test('a push service that does not answer delays neither a request nor a shutdown', async () => {
  await using scene = await subscribed()
  const { h, service, tryCreate } = scene
  service.status.now = 0
  assert.equal((await tryCreate({ workflow: 'day' })).status, 201)
  await service.reached(1)
  assert.equal((await tryCreate()).status, 201)
  await h.restart()
  assert.equal(await scene.count(), 2)
  assert.equal((await scene.push()).is_on, true)
})

test('one tenant wakes a user once an hour, and ten tenants together four times', async () => {
  await using scene = await subscribed()
  const { h, phone, tryCreate } = scene
  const tenants = [h.shop]
  for (let n = 1; n < 10; n++) {
    const keys = await h.addTenant({ name: `Tenant ${n}`, workflows: INBOX_WORKFLOWS })
    tenants.push(keys)
  }
  const references = [scene.subjectRef]
  for (const keys of tenants.slice(1))
    references.push((await bondedUser(h, keys, phone)).subjectRef)
  h.clock.advance(1)
  const decided = scene.decided()
  const createdBy = new Map<number, number>()
  const ring = async (n: number, { waits = false } = {}) => {
    const { status, body } = await tryCreate({ subject_ref: references[n] }, tenants[n]?.server)
    if (status !== 201) return
    createdBy.set(n, (createdBy.get(n) ?? 0) + 1)
    // A withdrawal keeps the tenant from no further request.
    if (!waits) await h.kill(body, tenants[n])
  }
  for (let minute = 0; minute < 120; minute++) {
    await ring(0)
    h.clock.advance(60_000)
  }
  assert.equal(decided.length, 2)
  for (let minute = 0; minute < 60; minute++) {
    await Promise.all(tenants.map((_, n) => ring(n)))
    h.clock.advance(60_000)
  }
  assert.equal(decided.length, 6)
  // No tenant is rejected because of another one, and each one's requests are listed.
  assert.equal(new Set([...createdBy].filter(([n]) => n > 0).map(([, count]) => count)).size, 1)
  await Promise.all(tenants.map((_, n) => ring(n)))
  h.clock.advance(HOUR)
  const earlier = decided.length
  await Promise.all(tenants.map((_, n) => ring(n, { waits: true })))
  assert.equal(decided.length - earlier, 4)
  const { items } = (await scene.open()).body
  assert.equal(new Set(items.map((item: { tenant_name: string }) => item.tenant_name)).size, 10)
})

test('each of two credentials wakes a user once an hour, whatever the other one does', async () => {
  await using scene = await subscribed()
  const { h, phone, tryCreate } = scene
  const { server: mad } = await h.addKeys(h.shop.tenant, null)
  const decided = scene.decided()
  const ring = async (by?: string) => {
    const before = decided.length
    const created = await tryCreate({ workflow: 'day' }, by)
    assert.equal(created.status, 201, created.text)
    return { created: created.body, woke: decided.length - before }
  }
  for (let hour = 0; hour < 6; hour++) {
    const first = await ring(mad)
    assert.equal(first.woke, 1)
    await h.kill(first.created)
    assert.equal((await ring(mad)).woke, 0)
    const { created, woke } = await ring()
    assert.equal(woke, 1, `hour ${hour}`)
    // An approval gives no second one.
    const { items } = (await scene.open()).body
    const { session_id: id, nonce } = items.find(
      (item: { session_id: string }) => item.session_id === created.id,
    )
    await h.claim(phone, { id, nonce })
    assert.equal((await h.attest(phone, await h.view(phone, { id, nonce }))).status, 200)
    const next = await ring()
    assert.equal(next.woke, 0)
    await h.kill(next.created)
    for (const item of items) if (item.session_id !== id) await h.kill({ id: item.session_id })
    h.clock.advance(HOUR)
  }
})

test('four credentials of a tenant use the wake-ups of an hour', async () => {
  await using scene = await subscribed()
  const { h, tryCreate } = scene
  const decided = scene.decided()
  for (let n = 0; n < 6; n++) {
    const { server } = await h.addKeys(h.shop.tenant, null)
    const created = await tryCreate({ workflow: 'day' }, server)
    assert.equal(created.status, 201)
    await h.kill(created.body)
  }
  assert.equal(decided.length, 4)
  h.clock.advance(HOUR)
  await tryCreate({ workflow: 'day' })
  assert.equal(decided.length, 5)
})

test('a phone that may not serve a request is not woken for it', async () => {
  await using scene = await subscribed()
  const { h, phone, service, setPush } = scene
  const added = await h.register(phone)
  const { public_key } = await scene.push()
  assert.equal((await setPush(added, service.subscribe('added', public_key))).status, 204)
  const decided = scene.decided()
  await scene.tryCreate()
  assert.deepEqual(decided, [scene.endpoint])
  h.clock.advance(72 * HOUR)
  await scene.tryCreate()
  assert.equal(decided.length, 3)
})

test("an endpoint is one phone's: the last one that subscribes with it", async () => {
  await using scene = await subscribed()
  const { h, endpoint, setPush } = scene
  const { phone } = await bondedUser(h)
  assert.equal((await setPush(phone, endpoint)).status, 204)
  assert.equal((await scene.push()).is_on, false)
})

test('a device token alone, another key and a used signature subscribe nothing', async () => {
  await using scene = await subscribed()
  const { h, phone, setPush } = scene
  const url = 'https://fcm.googleapis.com/send/thief'
  const token = phone.device_token
  assert.equal((await h.api('POST', '/inbox/push', { token, body: { endpoint: url } })).status, 400)
  const thief = { ...phone, privateKey: newKey().privateKey }
  const forged = await setPush(thief, url)
  assert.equal(forged.body.error.reason, 'assertion_invalid')
  const body = pushRequest(phone, h.now(), scene.endpoint)
  assert.equal((await h.api('POST', '/inbox/push', { token, body })).status, 204)
  const again = await h.api('POST', '/inbox/push', { token, body })
  assert.equal(again.body.error.reason, 'assertion_invalid')
  const changed = { ...pushRequest(phone, h.now(), scene.endpoint), endpoint: url }
  const other = await h.api('POST', '/inbox/push', { token, body: changed })
  assert.equal(other.body.error.reason, 'assertion_invalid')
  assert.equal(await endpointOf(scene), scene.endpoint)
})

test('an endpoint is a public HTTPS URL of a known push service, of at most 1,024 characters', async () => {
  await using scene = await subscribed()
  const rejected = [
    'http://fcm.googleapis.com/send/a',
    'https://fcm.googleapis.com:8443/send/a',
    'https://fcm.googleapis.com.evil.example/send/a',
    'https://evil.example/fcm.googleapis.com',
    'https://user@fcm.googleapis.com/send/a',
    'https://notify.windows.com/a',
    'https://evilnotify.windows.com/a',
    'https://169.254.169.254/latest',
    'https://[::1]/a',
    'https://localhost/a',
    'https://fcm.googleapis.com./a',
    `https://fcm.googleapis.com/${'a'.repeat(1_000)}`,
  ]
  for (const url of rejected) {
    const { status, body } = await scene.setPush(scene.phone, url)
    assert.deepEqual(
      [status, body.error.reason, body.error.param],
      [400, 'invalid_member', 'endpoint'],
    )
  }
  for (const url of [
    'https://wns2-by3p.notify.windows.com/w/?token=a',
    'https://web.push.apple.com/a',
  ])
    assert.equal((await scene.setPush(scene.phone, url)).status, 204)
})

function endpointOf({ h, phone }: Scene, of = phone) {
  return h.service.store.read(({ push }) => push.endpoint(of.device_id as DeviceId))
}

async function timeline({ h, phone }: Scene) {
  return h.service.store.read(({ devices }) => devices.events(phone.device_id as DeviceId))
}
