import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { SubjectId, TimelineEntry } from '@bonded/contract'
import { ADDED_PHONE_WAIT_MS } from '../../../core/src/domain/lifetimes.ts'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

/*
 * The rules for phones that were added to a subject, and for bonds of phones that are gone. Each
 * stops an attack that the symbolic model found (decision 82).
 */
const reasonOf = (reply: { body?: { error?: { reason?: string } } }) => reply.body?.error?.reason
const keysOf = async (h: Harness, phone: TestPhone): Promise<string[]> =>
  (await h.api('GET', '/devices', { token: phone.device_token })).body.keys
const WORKFLOW = { workflow: 'credit_application' }

test('an added phone serves a session that names no user only if no older phone is active', async () => {
  await using h = await harness()
  const first = await h.register()
  const bonded = await h.create()
  await h.attest(first, (await h.claim(first, bonded)).body)
  const { subject_ref } = (await h.get(bonded)).body
  h.clock.advance(1)
  const second = await h.register(first)
  h.clock.advance(ADDED_PHONE_WAIT_MS)

  const unnamed = await h.create()
  const rejected = await h.claim(second, unnamed)
  assert.equal(reasonOf(rejected), 'device_not_usable')
  const timeline = await h.api('GET', `/sessions/${unnamed.id}/timeline`, { token: h.shop.server })
  const steps = timeline.body.entries.map(({ step }: TimelineEntry) => step)
  assert.ok(steps.includes('older_phone_active'), steps.join())
  const named = await h.create({ ...WORKFLOW, subject_ref })
  assert.equal((await h.attest(second, (await h.claim(second, named)).body)).body.state, 'bonded')
  // The founder of the subject serves it. Without an active founder, the added phone does.
  assert.equal((await h.claim(first, await h.create())).status, 200)
  await moveDevice(h.service, first.device_id as never, 'block')
  assert.equal((await h.claim(second, unnamed)).status, 200)
  await moveDevice(h.service, first.device_id as never, 'unblock')
  assert.equal(reasonOf(await h.claim(second, unnamed)), 'device_not_usable')
  await h.removeKey(first)
  assert.equal((await h.attest(second, (await h.claim(second, unnamed)).body)).status, 200)
})

test('an added phone cannot remove another phone in its first 72 hours', async () => {
  await using h = await harness()
  const first = await h.register()
  h.clock.advance(1)
  const second = await h.register(first)
  const third = await h.register(first)
  h.clock.advance(ADDED_PHONE_WAIT_MS - 1)
  for (const target of [first, third])
    assert.equal(reasonOf(await h.removeKey(second, target)), 'key_too_new')
  assert.equal((await keysOf(h, first)).length, 3)
  // The founder is notified, and can remove at once. The added phone can remove itself.
  assert.equal((await h.removeKey(first, third)).status, 204)
  h.clock.advance(1)
  assert.equal((await h.removeKey(second, first)).status, 204)
})

test('an added phone adds none in its first 72 hours, and an older one always can', async () => {
  await using h = await harness()
  const first = await h.register()
  h.clock.advance(1)
  const second = await h.register(first)
  h.clock.advance(ADDED_PHONE_WAIT_MS - 1)
  await assert.rejects(h.register(second), /answered 400 .*key_too_new/)
  await h.register(first)
  assert.equal((await keysOf(h, first)).length, 3)
  h.clock.advance(1)
  await h.register(second)
})

/** Adds a phone as a version before the rule did: its approver was new. */
async function plant(h: Harness, approver: TestPhone): Promise<TestPhone> {
  const planted = await h.register()
  const file = new DatabaseSync(h.databaseFile)
  file
    .prepare('update device set subject_id = ?, added_by = ? where id = ?')
    .run(approver.subject_id, approver.device_id, planted.device_id)
  file.close()
  return { ...planted, subject_id: approver.subject_id }
}

test('removing a phone also removes what it added while it was new, and what these added', async () => {
  for (const by of ['the user', 'an operator']) {
    await using h = await harness()
    const own = await h.register()
    const attacker = await h.register(own)
    const planted = await plant(h, attacker)
    h.clock.advance(ADDED_PHONE_WAIT_MS)
    const grandchild = await h.register(planted)
    const later = await h.register(attacker)
    const listed = (await h.api('GET', '/devices', { token: own.device_token })).body.keys
    const alsoRemoved = listed.find(
      ({ device_id }: { device_id: string }) => device_id === attacker.device_id,
    ).also_removes
    assert.deepEqual(
      alsoRemoved.toSorted(),
      [planted.device_id, grandchild.device_id].toSorted(),
      by,
    )
    if (by === 'the user') assert.equal((await h.removeKey(own, attacker)).status, 204)
    else await moveDevice(h.service, attacker.device_id as never, 'remove')
    const left = (await h.api('GET', '/devices', { token: own.device_token })).body.keys
    assert.deepEqual(
      left.map(({ device_id }: { device_id: string }) => device_id).toSorted(),
      [own.device_id, later.device_id].toSorted(),
      by,
    )
    for (const gone of [planted, grandchild])
      assert.equal((await h.api('GET', '/devices', { token: gone.device_token })).status, 401)
  }
})

test('a removal never removes the phone that asks for it', async () => {
  await using h = await harness()
  const own = await h.register()
  const second = await h.register(own)
  const third = await plant(h, second)
  h.clock.advance(ADDED_PHONE_WAIT_MS)
  const fourth = await h.register(third)
  assert.equal((await h.removeKey(third, second)).status, 204)
  assert.deepEqual((await keysOf(h, third)).length, 3)
  assert.equal((await h.api('GET', '/devices', { token: fourth.device_token })).status, 200)
})

test('a phone that removes itself takes no other one along', async () => {
  await using h = await harness()
  const own = await h.register()
  const attacker = await h.register(own)
  const planted = await plant(h, attacker)
  const { body } = await h.api('GET', '/devices', { token: attacker.device_token })
  const alsoRemoved = body.keys.map((key: { also_removes: string[] }) => key.also_removes)
  assert.deepEqual(alsoRemoved.flat(), [])
  // It can be the user's own new phone, and the user has given up the old one.
  assert.equal((await h.removeKey(attacker)).status, 204)
  assert.deepEqual(
    (await h.api('GET', '/devices', { token: planted.device_token })).body.keys.length,
    2,
  )
})

test('a new phone stays when the old one that added it is removed', async () => {
  await using h = await harness()
  const old = await h.register()
  h.clock.advance(1)
  const replacement = await h.register(old)
  assert.equal((await h.removeKey(old)).status, 204)
  assert.equal((await keysOf(h, replacement)).length, 1)
})

test('an added phone can remove itself at once', async () => {
  await using h = await harness()
  const first = await h.register()
  const second = await h.register(first)
  assert.equal((await h.removeKey(second)).status, 204)
})

test('a bond has no verification once its phone is removed or blocked, and can still be completed', async () => {
  await using h = await harness()
  const ways: Record<string, (phone: TestPhone) => Promise<unknown>> = {
    removed: (phone) => h.removeKey(phone),
    'removed by the operator': (phone) => moveDevice(h.service, phone.device_id as never, 'remove'),
    blocked: (phone) => moveDevice(h.service, phone.device_id as never, 'block'),
    'of a blocked subject': (phone) =>
      changeSubject(h.service, phone.subject_id as SubjectId, 'block'),
  }
  for (const [name, end] of Object.entries(ways)) {
    const phone = await h.register()
    const [open, done] = [await h.create(), await h.create()]
    for (const session of [open, done]) await h.attest(phone, (await h.claim(phone, session)).body)
    assert.equal((await h.complete(done)).status, 200)
    assert.notEqual((await h.get(open)).body.verification, null)
    h.clock.advance(1)
    await end(phone)
    const bonded = (await h.get(open)).body
    assert.deepEqual([bonded.state, bonded.verification], ['bonded', null], name)
    // The backend had acted on this one already.
    assert.notEqual((await h.get(done)).body.verification, null, name)
    // A backend that read the verification before may have acted on it.
    assert.equal((await h.complete(open)).status, 200, name)
  }
})
