import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession, EventType, Receipt, SubjectId } from '@bonded/contract'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { createEndpoint } from '../../../core/src/operations/admin/webhooks.ts'
import {
  type Harness,
  harness,
  type Reply,
  type TenantKeys,
} from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

const UNKNOWN = 'A'.repeat(43)
/** No lifetime is a multiple of it, so no two times of a test are equal by chance. */
const MINUTE_MS = 60_137

const reasonOf = (reply: Reply) => reply.body?.error?.reason as string | undefined
const pathOf = (subjectRef: string, what: string) => `/subjects/${subjectRef}/${what}`
const subjectCalls = (h: Harness, { server: token }: Pick<TenantKeys, 'server'>) => ({
  list: (ref: string) => h.api('GET', pathOf(ref, 'devices'), { token }),
  block: (ref: string) => h.api('POST', pathOf(ref, 'block'), { token }),
  unblock: (ref: string) => h.api('POST', pathOf(ref, 'unblock'), { token }),
})

/** Bonds a new session at a tenant, a minute after the last call. */
async function bond(h: Harness, phone: TestPhone, keys = h.shop) {
  h.clock.advance(MINUTE_MS)
  const session = await h.create(undefined, keys)
  const claimed = await h.claim(phone, session)
  assert.equal(claimed.status, 200, claimed.text)
  await h.attest(phone, claimed.body)
  const view = (await h.get(session, keys)).body
  assert.equal(view.state, 'bonded')
  return { session, view, subjectRef: view.subject_ref as string }
}

async function setUp(options: Parameters<typeof harness>[0] = {}) {
  const h = await harness(options)
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  return { h, other, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() }
}

/** What the steps of a session's timeline say, for rejections and notes. */
async function timelineOf(h: Harness, { id }: CreatedSession) {
  const { body } = await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })
  const entries = body.entries as { kind: string; reason: string; step: string }[]
  return entries
    .filter(({ kind }) => kind === 'refused' || kind === 'note')
    .map(({ reason, step }) => [reason, step])
}

test('lists the phones of a user, and none of the members that the operator has', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const bondedAt = h.now()
  h.clock.advance(MINUTE_MS)
  const second = await h.register(phone)
  const { list } = subjectCalls(h, h.shop)

  const { status, body } = await list(subjectRef)
  assert.equal(status, 200)
  const [first, added] = body.devices
  assert.match(first.device_ref, /^[\w-]{43}$/)
  assert.notEqual(first.device_ref, added.device_ref)
  const software = { format: 'software', key_attested: false, status: 'active' }
  assert.deepEqual(body, {
    subject_ref: subjectRef,
    blocked_at: null,
    devices: [
      { device_ref: first.device_ref, ...software, last_bonded_at: bondedAt },
      { device_ref: added.device_ref, ...software, last_bonded_at: null },
    ],
  })
  await moveDevice(h.service, second.device_id as never, 'block')
  const blocked = (await list(subjectRef)).body.devices
  assert.deepEqual(
    blocked.map(({ status: is }: { status: string }) => is),
    ['active', 'blocked'],
  )
  await moveDevice(h.service, second.device_id as never, 'remove')
  assert.deepEqual((await list(subjectRef)).body.devices.length, 1)
})

test('the reference of a phone stays the same when the root key rotates', async () => {
  const former = { id: 'k0', bytes: new Uint8Array(32).fill(7) }
  const rootKeys = [former]
  await using s = await setUp({ rootKeys })
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const { list } = subjectCalls(h, h.shop)
  const before = (await list(subjectRef)).body
  rootKeys.unshift({ id: 'k1', bytes: new Uint8Array(32).fill(8) })
  await h.restart()
  assert.deepEqual((await list(subjectRef)).body, before)
})

test('a block rejects every call of the user’s phones at this tenant, and an unblock ends it', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const waiting = await h.create()
  const claimed = (await h.claim(phone, waiting)).body
  const { verified_evidence } = (await h.evidence(phone, claimed)).body
  assert.ok(verified_evidence)
  const { block, unblock } = subjectCalls(h, h.shop)

  const blocked = await block(subjectRef)
  assert.deepEqual([blocked.status, blocked.body.blocked_at], [200, h.now()])
  const session = await h.create()
  assert.equal(reasonOf(await h.claim(phone, session)), 'device_not_usable')
  assert.equal(reasonOf(await h.decline(phone, session)), 'device_not_usable')
  const seen = { ...claimed, id: session.id, nonce: session.nonce }
  assert.equal(reasonOf(await h.evidence(phone, seen)), 'device_not_usable')
  // A phone that is added after the block is one of the same user.
  h.clock.advance(MINUTE_MS)
  const added = await h.register(phone)
  const next = await h.create()
  assert.equal(reasonOf(await h.claim(added, next)), 'device_not_usable')
  assert.deepEqual(await timelineOf(h, next), [['device_not_usable', 'subject_blocked_by_tenant']])

  const unblocked = await unblock(subjectRef)
  assert.deepEqual([unblocked.status, unblocked.body.blocked_at], [200, null])
  assert.equal((await h.claim(phone, session)).status, 200)
})

test('a call about a user concerns that one, and no other user of the tenant', async () => {
  await using s = await setUp()
  const { h } = s
  const users = [await bond(h, await h.register()), await bond(h, await h.register())] as const
  const { list, block, unblock } = subjectCalls(h, h.shop)
  const readAllUsers = () =>
    Promise.all(users.map(async ({ subjectRef }) => (await list(subjectRef)).body))
  const [first, second] = await readAllUsers()
  assert.deepEqual(
    [first, second].map(({ subject_ref, devices }) => [subject_ref, devices.length]),
    users.map(({ subjectRef }) => [subjectRef, 1]),
  )
  assert.notEqual(first.devices[0].device_ref, second.devices[0].device_ref)

  const { blocked_at } = (await block(users[1].subjectRef)).body
  assert.deepEqual(await readAllUsers(), [first, { ...second, blocked_at }])
  assert.equal((await h.get(users[0].session)).body.state, 'bonded')
  const { body: blocked } = await block(users[0].subjectRef)
  await unblock(users[1].subjectRef)
  assert.deepEqual(await readAllUsers(), [blocked, second])
})

test('a block ends the sessions that the phones hold, also a bonded one, and leaves completed ones', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { session: completed, subjectRef } = await bond(h, phone)
  await h.complete(completed)
  const { session: bonded } = await bond(h, phone)
  const pending = await h.create()
  await h.claim(phone, pending)
  const untouched = await h.create()

  await subjectCalls(h, h.shop).block(subjectRef)
  const states = []
  for (const session of [completed, bonded, pending, untouched]) {
    const { state, ended_reason, verification } = (await h.get(session)).body
    states.push([state, ended_reason, verification !== null])
  }
  assert.deepEqual(states, [
    ['completed', null, true],
    ['killed', 'killed_by_tenant', false],
    ['killed', 'killed_by_tenant', false],
    ['pending', null, false],
  ])
  const completion = await h.complete(bonded)
  assert.equal(reasonOf(completion), 'session_not_bonded')
  assert.deepEqual(await timelineOf(h, bonded), [['device_subject_blocked', 'tenant']])
  const { status } = await h.api('GET', `/sessions/${bonded.id}/receipt`, { token: h.shop.server })
  assert.equal(status, 400)
})

test('no bond of a phone survives a block that races its approval', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const { block, unblock } = subjectCalls(h, h.shop)
  for (let round = 0; round < 6; round++) {
    h.clock.advance(MINUTE_MS)
    const session = await h.create()
    const view = (await h.claim(phone, session)).body
    const [, blocked] = await Promise.all([h.attest(phone, view), block(subjectRef)])
    assert.equal(blocked.status, 200, blocked.text)
    assert.equal((await h.get(session)).body.state, 'killed')
    await unblock(subjectRef)
  }
})

test('a block is repeated without effect, and keeps its first time', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const { block, unblock } = subjectCalls(h, h.shop)
  const first = await block(subjectRef)
  h.clock.advance(MINUTE_MS)
  assert.deepEqual((await block(subjectRef)).body, first.body)
  assert.equal((await unblock(subjectRef)).body.blocked_at, null)
  assert.equal((await unblock(subjectRef)).body.blocked_at, null)
})

test('a tenant’s block concerns no other tenant, and an operator’s block all of them', async () => {
  await using s = await setUp()
  const { h, other } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const elsewhere = await bond(h, phone, other)
  await createEndpoint(h.service, {
    tenantId: other.tenant.id,
    url: 'https://hooks.example/other',
    events: null,
    scheme: 'v1',
  })
  await subjectCalls(h, h.shop).block(subjectRef)

  assert.equal((await h.get(elsewhere.session, other)).body.state, 'bonded')
  const theirs = subjectCalls(h, other)
  assert.equal((await theirs.list(elsewhere.subjectRef)).body.blocked_at, null)
  await bond(h, phone, other)
  // The tenant that did not block learns nothing.
  const types = (await deliveriesOf(h, other)).map(({ type }) => type)
  assert.ok(!types.includes('device.blocked'), types.join())

  await changeSubject(h.service, phone.subject_id as SubjectId, 'block')
  const { blocked_at, devices } = (await theirs.list(elsewhere.subjectRef)).body
  assert.deepEqual([blocked_at, devices[0].status], [null, 'blocked'])
  // A tenant ends its own block only.
  await subjectCalls(h, h.shop).unblock(subjectRef)
  const refused = await h.claim(phone, await h.create())
  assert.equal(reasonOf(refused), 'device_not_usable')
})

test('a reference of another tenant, of another form, and an unknown one read the same', async () => {
  await using s = await setUp()
  const { h, other } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const { subjectRef: theirRef } = await bond(h, phone, other)
  const comparable = ({ status, headers, text }: Reply) => {
    const { date: _date, 'x-request-id': id, ...rest } = headers
    return { status, rest, text: text.replaceAll(String(id), '<id>') }
  }
  const calls = subjectCalls(h, other)
  for (const call of [calls.list, calls.block, calls.unblock]) {
    const unknown = await call(UNKNOWN)
    assert.deepEqual([unknown.status, reasonOf(unknown)], [404, 'subject_not_found'])
    for (const ref of [subjectRef, phone.subject_id, 'x', `${theirRef}%27`])
      assert.deepEqual(comparable(await call(ref)), comparable(unknown), ref)
  }
  assert.equal((await subjectCalls(h, h.shop).list(subjectRef)).body.blocked_at, null)
})

test('rejects a scoped credential, a key of a page, a phone, and a credential in a page', async () => {
  await using s = await setUp()
  const { h } = s
  const phone = await h.register()
  const { subjectRef } = await bond(h, phone)
  const scoped = await h.addKeys(h.shop.tenant, [{ workflow: 'credit_application', actions: null }])
  for (const [method, what] of [
    ['GET', 'devices'],
    ['POST', 'block'],
    ['POST', 'unblock'],
  ] as const) {
    const send = (token: string | undefined, origin?: string) =>
      h.api(method, pathOf(subjectRef, what), { token, ...(origin && { headers: { origin } }) })
    assert.equal(reasonOf(await send(scoped.server)), 'unscoped_credential_required')
    assert.equal(reasonOf(await send(h.shop.publishable)), 'credential_not_accepted')
    assert.equal(reasonOf(await send(phone.device_token)), 'credential_not_accepted')
    assert.equal(reasonOf(await send(undefined)), 'credential_missing')
    assert.equal(reasonOf(await send(h.shop.server, 'https://shop.example')), 'origin_not_allowed')
  }
  assert.equal((await subjectCalls(h, h.shop).list(subjectRef)).body.blocked_at, null)
})

/** Every value in a document, as text. */
function valuesOf(document: unknown): readonly string[] {
  if (typeof document !== 'object' || document === null) return [JSON.stringify(document)]
  return Object.values(document).flatMap(valuesOf)
}

async function deliveriesOf(h: Harness, { server: token }: TenantKeys) {
  const { body } = await h.api('GET', '/webhook-deliveries', { token })
  return body.deliveries as { event_id: string; type: EventType }[]
}

/** Everything that a tenant reads of a user: its sessions, receipts, events, and phones. */
async function readAll(h: Harness, keys: TenantKeys, phone: TestPhone): Promise<readonly string[]> {
  const { server: token } = keys
  const { session, subjectRef } = await bond(h, phone, keys)
  await h.complete(session, {}, keys)
  const receipt = (await h.api('GET', `/sessions/${session.id}/receipt`, { token })).body as Receipt
  const [, payload = ''] = receipt.receipt.split('.')
  // The phone signed its own ids and its key verifies that, so receipts show both: decision 93.
  const { phone: _signed, ...claims } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  assert.ok(claims.device_ref)
  h.clock.advance(MINUTE_MS)
  await h.register(phone)
  h.clock.advance(MINUTE_MS)
  const events = []
  for (const { event_id } of await deliveriesOf(h, keys)) {
    const { deliveries } = (await h.api('GET', `/webhook-deliveries/${event_id}`, { token })).body
    events.push(JSON.parse(deliveries[0].payload))
  }
  const ofDevices = events.filter(({ type }) => type === 'device.key_added')
  const named = ofDevices.filter(({ data }) => data.subject_ref === subjectRef)
  const { body: listed } = await subjectCalls(h, keys).list(subjectRef)
  // The event names the phone that was added as the list does.
  assert.equal(named[0].data.device_ref, listed.devices.at(-1).device_ref)
  assert.equal(claims.device_ref, listed.devices[0].device_ref)
  // One change of a phone is one moment for all of its tenants.
  const others = events.map(({ timestamp: _moment, ...event }) => event)
  const timeline = (await h.api('GET', `/sessions/${session.id}/timeline`, { token })).body
  const { body: view } = await h.get(session, keys)
  return valuesOf([view, claims, others, listed, timeline])
}

test('two tenants that compare what they read of one phone find no value in common', async () => {
  await using s = await setUp()
  const { h, other } = s
  for (const keys of [h.shop, other])
    await createEndpoint(h.service, {
      tenantId: keys.tenant.id,
      url: `https://hooks.example/${keys.tenant.id}`,
      events: ['device.key_added', 'session.bonded'],
      scheme: 'v1',
    })
  const [phone, another] = [await h.register(), await h.register()]
  // What a tenant reads of another user too tells nothing of this one.
  const usual = new Set([
    ...(await readAll(h, h.shop, another)),
    ...(await readAll(h, other, await h.register())),
  ])
  const first = new Set(await readAll(h, h.shop, phone))
  const second = await readAll(h, other, phone)
  const common = second.filter((value) => first.has(value) && !usual.has(value))
  assert.deepEqual(common, [])
  const identifying = [phone.device_id, phone.subject_id, phone.key_id, phone.device_token]
  for (const value of identifying)
    assert.ok(![...first, ...second].some((text) => text.includes(value)), value)
})
