import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { bondedUser, HOUR, inboxHarness, reasonOf } from '../../../../tests/harness/inbox.ts'
import { carriedSignals, newKey } from '../../../../tests/harness/phone.ts'

test('a phone lists a request, opens it with its nonce, and approves it', async () => {
  await using scene = await inboxHarness()
  const { h, phone, subjectRef } = scene
  const { session, listed } = await scene.ask({
    context: { display: [{ label: 'Invoice', value: '7' }] },
  })
  assert.equal(await scene.count(), 1)
  assert.equal((await h.claim(phone, listed)).status, 200)
  const view = await h.view(phone, listed)
  assert.deepEqual(view.context?.display, [{ label: 'Invoice', value: '7' }])
  assert.equal((await h.attest(phone, view)).status, 200)
  const { state, subject_ref } = (await h.get(session)).body
  assert.deepEqual([state, subject_ref], ['bonded', subjectRef])
  assert.equal(await scene.count(), 0)
  assert.equal((await h.complete(session)).status, 200)
})

test('a list has titles, times and the requester, and no other part of the context', async () => {
  await using scene = await inboxHarness()
  const requester = { kind: 'agent', name: 'Billing agent' }
  const display = [{ label: 'Invoice', value: 'secret' }]
  await scene.tryCreate({ context: { display, requester } })
  const { body, text } = await scene.open()
  const [{ session_id, nonce, ...item }] = body.items
  assert.match(session_id + nonce, /^sess_\w{22}[\w-]{43}$/)
  assert.deepEqual(item, {
    tenant_name: 'Shop',
    workflow_title: { en: 'Payments' },
    action_title: null,
    requester,
    created_at: scene.h.now(),
    expires_in_ms: 300_000,
  })
  assert.doesNotMatch(text, /secret/)
})

test('the nonce of the page opens nothing', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const { session } = await scene.ask()
  assert.equal(reasonOf(await h.claim(phone, session)), 'nonce_mismatch')
  assert.equal(reasonOf(await h.decline(phone, session)), 'nonce_mismatch')
  assert.equal(reasonOf(await h.evidence(phone, seen(session))), 'nonce_mismatch')
  assert.equal(reasonOf({ body: await h.view(phone, session) } as never), 'session_not_found')
  const invitation = await h.api('GET', `/sessions/${session.id}/invitation`, {
    headers: { 'x-bond-nonce': session.nonce },
  })
  assert.equal(invitation.status, 404)
})

test('a nonce opens a request on one phone only, and for two periods', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const other = await h.register(phone)
  h.clock.advance(72 * HOUR)
  const { session, listed } = await scene.ask()
  assert.equal(reasonOf(await h.claim(other, listed)), 'nonce_mismatch')
  h.clock.advance(239_999)
  const late = await scene.open()
  assert.notEqual(late.body.items[0].nonce, listed.nonce)
  assert.equal((await h.view(phone, listed)).state, 'pending')
  h.clock.advance(1)
  assert.equal(reasonOf(await h.claim(phone, listed)), 'challenge_expired')
  assert.equal(
    (await h.claim(phone, { id: session.id, nonce: late.body.items[0].nonce })).status,
    200,
  )
})

test('a new phone of an attacker sees nothing of another user', async () => {
  await using scene = await inboxHarness()
  const { h } = scene
  const stranger = await h.register()
  // The request is younger than the key, so only its user keeps it from the stranger.
  h.clock.advance(1)
  const { listed } = await scene.ask()
  assert.equal(await scene.count(stranger), 0)
  assert.deepEqual((await scene.open(stranger)).body.items, [])
  assert.equal(reasonOf(await h.claim(stranger, listed)), 'nonce_mismatch')
})

test('a phone that was added after the request, or in the 72 hours before, does not serve it', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const before = await h.register(phone)
  h.clock.advance(72 * HOUR - 1)
  const { session } = await scene.ask({ workflow: 'day' })
  const later = await h.register(phone)
  h.clock.advance(20 * HOUR)
  for (const added of [before, later]) {
    assert.equal(await scene.count(added), 0)
    assert.deepEqual((await scene.open(added)).body.items, [])
    const nonce = inboxNonce(scene, session, added.device_id)
    const stolen = { ...session, nonce }
    assert.equal(reasonOf(await h.claim(added, stolen)), 'key_too_new')
    assert.equal(reasonOf(await h.decline(added, stolen)), 'key_too_new')
    assert.equal(reasonOf(await h.evidence(added, seen(stolen))), 'key_too_new')
    assert.equal(reasonOf({ body: await h.view(added, stolen) } as never), 'session_not_found')
  }
  assert.equal(await scene.count(), 1)
  const { session: next } = await scene.ask()
  assert.equal((await scene.open(before)).body.items[0].session_id, next.id)
})

test('a thief of the token learns how many requests wait, and no more', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const { session } = await scene.ask()
  const thief = { ...phone, privateKey: newKey().privateKey }
  assert.equal(await scene.count(thief), 1)
  assert.equal(reasonOf(await scene.open(thief)), 'assertion_invalid')
  assert.equal((await scene.resume(thief, h.shop.tenant.id)).status, 400)
  assert.equal(
    reasonOf(await h.decline(phone, { ...session, nonce: 'A'.repeat(43) })),
    'nonce_mismatch',
  )
})

test('a signature opens the inbox once, and ends no pause', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const opened = await scene.open()
  assert.equal(opened.status, 200)
  phone.counter -= 1
  assert.equal(reasonOf(await scene.open()), 'assertion_invalid')
  await h.removeKey(phone)
  assert.equal((await scene.open()).status, 401)
})

test('a user without a phone, and an unknown one, have the same rejection', async () => {
  await using scene = await inboxHarness()
  const { h, phone, subjectRef } = scene
  const unknown = await scene.tryCreate({ subject_ref: 'A'.repeat(43) })
  assert.deepEqual([unknown.status, reasonOf(unknown)], [400, 'subject_has_no_phone'])
  assert.equal(reasonOf(await scene.tryCreate({ subject_ref: null })), 'subject_required')
  await h.api('POST', `/subjects/${subjectRef}/block`, { token: h.shop.server })
  assert.equal(reasonOf(await scene.tryCreate()), 'subject_has_no_phone')
  await h.api('POST', `/subjects/${subjectRef}/unblock`, { token: h.shop.server })
  assert.equal((await scene.tryCreate()).status, 201)
  await h.removeKey(phone)
  assert.equal(reasonOf(await scene.tryCreate()), 'subject_has_no_phone')
})

test('a step-up goes on with the nonce that the phone reads', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const { listed } = await scene.ask({ workflow: 'strict' })
  await h.claim(phone, listed)
  const failed = { result: 'failed', method: 'none', verified_at: h.now() } as const
  const signals = { ...carriedSignals(h.clock.now()), local_auth: failed }
  await h.attest(phone, await h.view(phone, listed), { signals })
  const [item] = (await scene.open()).body.items
  const view = await h.view(phone, listed)
  assert.deepEqual([view.state, view.nonce], ['step_up_required', item.nonce])
})

test('a list has pages, in which each tenant has a share', async () => {
  await using scene = await inboxHarness()
  const { h, phone, subjectRef } = scene
  const tenants = [{ keys: h.shop, subject_ref: subjectRef }]
  for (const name of ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon']) {
    const keys = await h.addTenant({ name, workflows: h.shop.tenant.workflows })
    const user = await bondedUser(h, keys, phone)
    tenants.push({ keys, subject_ref: user.subjectRef })
  }
  h.clock.advance(1)
  for (const { keys, subject_ref } of tenants)
    for (let n = 0; n < 4; n++)
      assert.equal((await scene.tryCreate({ subject_ref }, keys.server)).status, 201)
  const first = (await scene.open()).body
  assert.equal(first.items.length, 20)
  const names = (items: readonly { tenant_name: string }[]) => items.map((item) => item.tenant_name)
  assert.equal(new Set(names(first.items.slice(0, 6))).size, 6)
  const second = (await scene.open(phone, { cursor: first.cursor })).body
  assert.equal(second.items.length, 4)
  assert.equal(second.cursor, null)
  const ids = [...first.items, ...second.items].map(({ session_id }) => session_id)
  assert.equal(new Set(ids).size, 24)
})

/** The nonce that the service would have listed for a device. */
function inboxNonce(
  { h }: Awaited<ReturnType<typeof inboxHarness>>,
  session: { id: string; server_time: string },
  deviceId: string,
): string {
  const { keys, clock } = h.service
  const index = Math.floor((clock.now() - Date.parse(session.server_time)) / 120_000)
  return keys.inboxNonces(keys.currentKeyId, session.id as never, deviceId as never).nonceAt(index)
}

/** A created session in the form of a view. */
function seen(session: CreatedSession) {
  return {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
}
