import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SubjectId, TimelineEntry } from '@bonded/contract'
import { ADDED_PHONE_WAIT_MS } from '../../../core/src/domain/lifetimes.ts'
import { MAX_KEYS_PER_SUBJECT } from '../../../core/src/domain/subject-keys.ts'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import {
  androidKey,
  appleKey,
  withProductionRoots,
  asTestRoots,
  ATTESTED_KEYS,
  webauthnKey,
} from '../../../../tests/harness/attested-phones.ts'
import { type Harness, harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import {
  approvalRequest,
  type Tampering,
  newKey,
  removalRequest,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

const FORMATS = [...ATTESTED_KEYS, ['software', () => undefined]] as const
const setUp = () => harness({ attestation: asTestRoots })

const reasonOf = (reply: { body?: { error?: { reason?: string } } }) => reply.body?.error?.reason
const listOf = async (h: Harness, phone: TestPhone) =>
  (await h.api('GET', '/devices', { token: phone.device_token })).body
const keysOf = async (h: Harness, phone: TestPhone): Promise<string[]> =>
  (await listOf(h, phone)).keys.map(({ device_id }: { device_id: string }) => device_id)
const recordOf = async (h: Harness, phone: TestPhone) =>
  (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body
const eventsOf = async (h: Harness, { device_id }: TestPhone) =>
  (await h.service.store.read((tables) => tables.devices.events(device_id as never))).map(
    ({ kind, step }) => [kind, step],
  )
const notesOf = async (h: Harness, session: { id: string }): Promise<(string | null)[]> =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).body.entries
    .filter(({ kind }: TimelineEntry) => kind === 'note')
    .map(({ reason }: TimelineEntry) => reason)
const move = (h: Harness, phone: TestPhone, name: keyof typeof DEVICE_MOVES) =>
  h.service.store.write((tables) =>
    tables.devices.move(phone.device_id as never, DEVICE_MOVES[name]),
  )

/** A registration of a new software key with an approval by the phone. */
async function approved(
  h: Harness,
  phone: TestPhone,
  tampering: Tampering & { origin?: string } = {},
) {
  const { privateKey, body } = await h.registration()
  const approval = approvalRequest(phone, body, h.now(), { origin: PUBLIC_ORIGIN, ...tampering })
  return { privateKey, body: { ...body, approval } }
}
const send = (h: Harness, body: object, token?: string) =>
  h.api('POST', '/devices', { token, body })

for (const [format, makeKey] of FORMATS) {
  for (const [added, makeAdded] of FORMATS) {
    test(`adds a ${added} key to a subject by an assertion of its ${format} key`, async () => {
      await using h = await setUp()
      const first = await h.register(undefined, makeKey())
      h.clock.advance(1)
      const second = await h.register(first, makeAdded())
      assert.equal(second.subject_id, first.subject_id)
      assert.notEqual(second.device_id, first.device_id)
      assert.deepEqual(await keysOf(h, second), [first.device_id, second.device_id])
      // The new key can remove the older one after its wait, and serves in its turn.
      h.clock.advance(ADDED_PHONE_WAIT_MS)
      assert.equal((await h.removeKey(second, first)).status, 204)
      assert.deepEqual(await keysOf(h, second), [second.device_id])
      h.clock.advance(1)
      const session = await h.create()
      const bonded = await h.attest(second, (await h.claim(second, session)).body)
      assert.equal(bonded.body.state, 'bonded', bonded.text)
    })
  }
}

test('registers a new subject without a token, and rejects an approval that comes without one', async () => {
  await using h = await setUp()
  const phone = await h.register()
  assert.notEqual((await h.register()).subject_id, phone.subject_id)
  const { body } = await approved(h, phone)
  assert.equal(reasonOf(await send(h, body)), 'credential_missing')
})

test('rejects a further key for a device token alone, and names the missing approval', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const { body } = await h.registration()
  const rejected = await send(h, body, phone.device_token)
  assert.deepEqual(
    [rejected.status, rejected.body.error.reason, rejected.body.error.param],
    [400, 'key_approval_required', 'approval'],
  )
  assert.deepEqual(await keysOf(h, phone), [phone.device_id])
})

for (const [format, makeKey] of FORMATS) {
  test(`rejects an approval that the ${format} key did not sign over this very registration`, async () => {
    await using h = await setUp()
    const phone = await h.register(undefined, makeKey())
    const good = await approved(h, phone)
    const { approval } = good.body
    const other = await h.registration()
    const thief = newKey()
    const wrongs: readonly object[] = [
      (await approved(h, phone, { privateKey: thief.privateKey })).body,
      (await approved(h, phone, { origin: 'https://elsewhere.example' })).body,
      (await approved(h, phone, { appId: 'other' })).body,
      (await approved(h, phone, { hash: Buffer.alloc(32) })).body,
      // The thief's key instead of the approved one, with the approved challenge or with its own.
      { ...good.body, public_key: thief.public_key },
      { ...other.body, approval },
      {
        ...good.body,
        approval: { ...approval, issued_at: new Date(h.clock.now() + 1).toISOString() },
      },
    ]
    for (const body of wrongs)
      assert.equal(reasonOf(await send(h, body, phone.device_token)), 'assertion_invalid', format)
    assert.deepEqual(await keysOf(h, phone), [phone.device_id])
    // None of them used the approval or its challenge up.
    assert.equal((await send(h, good.body, phone.device_token)).status, 201)
  })
}

test('rejects an approval that signs another request: for a token, a removal, a bond', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const { body } = await h.registration()
  const removal = removalRequest(phone, phone.device_id, h.now(), { origin: PUBLIC_ORIGIN })
  const reply = await send(h, { ...body, approval: removal }, phone.device_token)
  assert.equal(reasonOf(reply), 'assertion_invalid')
  const { body: other } = await approved(h, phone)
  const removed = await h.api('POST', `/devices/${phone.device_id}/removal`, {
    token: phone.device_token,
    body: other.approval,
  })
  assert.equal(reasonOf(removed), 'assertion_invalid')
})

test('rejects an approval of another subject’s key, and one sent with another device’s token', async () => {
  await using h = await setUp()
  const [victim, thief] = [await h.register(), await h.register()]
  const sibling = await h.register(victim)
  const { body } = await approved(h, thief)
  assert.equal(reasonOf(await send(h, body, victim.device_token)), 'assertion_invalid')
  // Also of a sibling: the approval names the device whose token is sent.
  const { body: bySibling } = await approved(h, sibling)
  assert.equal(reasonOf(await send(h, bySibling, victim.device_token)), 'assertion_invalid')
  // The thief's key that claims to be the victim's device.
  const posing = { ...thief, device_id: victim.device_id, subject_id: victim.subject_id }
  const { body: posed } = await approved(h, posing)
  for (const token of [victim.device_token, thief.device_token])
    assert.equal(reasonOf(await send(h, posed, token)), 'assertion_invalid')
  assert.equal((await keysOf(h, victim)).length, 2)
})

test('rejects an approval that is too old, and tells the time to sign by', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const { body } = await approved(h, phone)
  h.clock.advance(120_001)
  const rejected = await send(h, body, phone.device_token)
  assert.equal(reasonOf(rejected), 'issued_at_out_of_range')
  assert.equal(rejected.body.error.server_time, h.now())
})

for (const [format, makeKey] of FORMATS) {
  test(`of ten additions at once with one ${format} assertion stores exactly one`, async () => {
    await using h = await setUp()
    const phone = await h.register(undefined, makeKey())
    const { body } = await approved(h, phone)
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => send(h, body, phone.device_token)),
    )
    assert.equal(replies.filter(({ status }) => status === 201).length, 1)
    assert.equal((await keysOf(h, phone)).length, 2)
    // And never again, also once the added key is gone.
    const added = (await keysOf(h, phone)).find((id) => id !== phone.device_id) ?? ''
    h.clock.advance(1)
    assert.equal((await h.removeKey(phone, { device_id: added })).status, 204)
    assert.notEqual((await send(h, body, phone.device_token)).status, 201)
  })
}

test('notifies every device of the subject and every session they hold of an added and a removed key', async () => {
  await using h = await setUp()
  const first = await h.register()
  h.clock.advance(1)
  const second = await h.register(first)
  const stranger = await h.register()
  const mine = await h.create()
  await h.attest(first, (await h.claim(first, mine)).body)
  const { subject_ref } = (await h.get(mine)).body
  const its = await h.create({ workflow: 'credit_application', subject_ref })
  const foreign = await h.create()
  await h.claim(second, its)
  await h.claim(stranger, foreign)
  assert.equal((await recordOf(h, second)).keys_changed_at, null)

  h.clock.advance(1_000)
  const third = await h.register(first)
  const addedAt = h.now()
  for (const phone of [first, second])
    assert.equal((await recordOf(h, phone)).keys_changed_at, addedAt)
  assert.equal((await recordOf(h, stranger)).keys_changed_at, null)
  assert.deepEqual(
    (await listOf(h, first)).keys.map(({ added_by }: { added_by: string | null }) => added_by),
    [null, first.device_id, first.device_id],
  )
  h.clock.advance(1_000)
  assert.equal((await h.removeKey(first, third)).status, 204)
  assert.equal((await recordOf(h, second)).keys_changed_at, h.now())
  for (const session of [mine, its])
    assert.deepEqual(await notesOf(h, session), ['device_key_added', 'device_key_removed'])
  assert.deepEqual(await notesOf(h, foreign), [])
  assert.deepEqual(await eventsOf(h, third), [
    ['registered', 'approved'],
    ['removed', 'phone'],
  ])
})

test('a suspect or a blocked device adds no key and removes no other; a suspect one removes itself', async () => {
  await using h = await setUp()
  for (const [name, itself] of [
    ['suspect', 204],
    ['block', 400],
  ] as const) {
    const phone = await h.register()
    const sibling = await h.register(phone)
    await move(h, phone, name)
    const { body } = await approved(h, phone)
    assert.equal(reasonOf(await send(h, body, phone.device_token)), 'device_not_usable', name)
    assert.equal(reasonOf(await h.removeKey(phone, sibling)), 'device_not_usable', name)
    assert.equal((await h.removeKey(phone)).status, itself, name)
    // The rest of the subject may remove it.
    h.clock.advance(ADDED_PHONE_WAIT_MS)
    if (itself !== 204) assert.equal((await h.removeKey(sibling, phone)).status, 204)
    assert.deepEqual(await keysOf(h, sibling), [sibling.device_id])
  }
})

test('a token alone removes nothing, and a device removes only devices of its own subject', async () => {
  await using h = await setUp()
  const [victim, thief] = [await h.register(), await h.register()]
  const path = `/devices/${victim.device_id}`
  assert.equal((await h.api('DELETE', path, { token: victim.device_token })).status, 405)
  const bare = await h.api('POST', `${path}/removal`, { token: victim.device_token, body: {} })
  assert.equal(reasonOf(bare), 'missing_member')
  assert.equal(reasonOf(await h.removeKey(thief, victim)), 'device_not_found')
  const wrong = await h.removeKey(victim, victim, { privateKey: newKey().privateKey })
  assert.equal(reasonOf(wrong), 'assertion_invalid')
  // Signed for itself, sent for the sibling.
  const sibling = await h.register(victim)
  const body = removalRequest(victim, victim.device_id, h.now(), { origin: PUBLIC_ORIGIN })
  const tampered = await h.api('POST', `/devices/${sibling.device_id}/removal`, {
    token: victim.device_token,
    body,
  })
  assert.equal(reasonOf(tampered), 'assertion_invalid')
  assert.deepEqual(
    (await keysOf(h, victim)).toSorted(),
    [victim.device_id, sibling.device_id].toSorted(),
  )
})

test('an attestation that races the removal of the last key either bonds or is rejected, never in between', async () => {
  await using h = await setUp()
  for (let round = 0; round < 8; round++) {
    const phone = await h.register()
    const session = await h.create()
    const view = (await h.claim(phone, session)).body
    const [attested, removed] = await Promise.all([h.attest(phone, view), h.removeKey(phone)])
    const { state } = (await h.get(session)).body
    assert.equal(state, attested.status === 200 ? 'bonded' : 'pending', attested.text)
    // The two use one counter: either may find the other's already taken.
    assert.ok(removed.status === 204 || reasonOf(removed) === 'assertion_invalid', removed.text)
    if (removed.status === 204)
      assert.equal(reasonOf(await h.claim(phone, session)), 'credential_invalid')
  }
})

test('of two devices that remove each other at once at least one stays gone and the counts agree', async () => {
  await using h = await setUp()
  const first = await h.register()
  const second = await h.register(first)
  const replies = await Promise.all([h.removeKey(first, second), h.removeKey(second, first)])
  const removed = replies.filter(({ status }) => status === 204).length
  assert.equal(removed, 1)
  const left = await h.service.store.read((tables) =>
    tables.subjects.keys(first.subject_id as SubjectId),
  )
  assert.equal(left.length, 1)
})

test('an operator blocks a subject: all of its devices are rejected, it gets no further one, and unblocking restores them', async () => {
  await using h = await setUp()
  const first = await h.register()
  const second = await h.register(first)
  const subject = first.subject_id as SubjectId
  const session = await h.create()
  const view = (await h.claim(first, session)).body
  await changeSubject(h.service, subject, 'block')

  for (const phone of [first, second]) {
    const claimed = await h.claim(phone, await h.create())
    assert.equal(reasonOf(claimed), 'device_not_usable')
    assert.equal((await recordOf(h, phone)).status, 'blocked')
    assert.equal(reasonOf(await h.removeKey(phone)), 'device_not_usable')
    const { body } = await approved(h, phone)
    assert.equal(reasonOf(await send(h, body, phone.device_token)), 'device_not_usable')
  }
  assert.equal(reasonOf(await h.attest(first, view)), 'device_not_usable')
  assert.deepEqual(await notesOf(h, session), ['device_subject_blocked'])
  await assert.rejects(changeSubject(h.service, subject, 'block'), /already blocked/)

  await changeSubject(h.service, subject, 'unblock')
  assert.equal((await h.attest(first, view)).body.state, 'bonded')
  await assert.rejects(changeSubject(h.service, subject, 'unblock'), /not blocked/)
})

test('an addition that races a block of the subject leaves no device that serves', async () => {
  await using h = await setUp()
  for (let round = 0; round < 6; round++) {
    const phone = await h.register()
    const { privateKey, body } = await approved(h, phone)
    const [added] = await Promise.all([
      send(h, body, phone.device_token),
      changeSubject(h.service, phone.subject_id as SubjectId, 'block'),
    ])
    if (added.status !== 201) {
      assert.equal(reasonOf(added), 'device_not_usable')
      continue
    }
    const newcomer: TestPhone = { ...added.body, privateKey, counter: 0 }
    assert.equal(reasonOf(await h.claim(newcomer, await h.create())), 'device_not_usable')
  }
})

test('the store rejects a key for a blocked subject, from a foreign or inactive approver, or beyond the maximum', async () => {
  await using h = await setUp()
  const [phone, stranger] = [await h.register(), await h.register()]
  const device = await h.service.store.read((tables) =>
    tables.devices.find(phone.device_id as never),
  )
  assert.ok(device)
  const add = (change: object, max = MAX_KEYS_PER_SUBJECT) => {
    const id = `dev_${h.service.random.base62(22)}`
    const key = { ...device, id, keyId: id, addedBy: device.id, ...change }
    const token = { id, hash: new Uint8Array(32), issuedAt: 0 }
    return h.service.store.write((tables) => tables.devices.addKey(key as never, token, max))
  }
  assert.equal(await add({ addedBy: stranger.device_id }), false)
  assert.equal(await add({ addedBy: null }), false)
  assert.equal(await add({}, 1), false)
  assert.equal(await add({ keyId: device.keyId }), false)
  for (const name of ['suspect', 'unblock', 'block'] as const) {
    await move(h, phone, name)
    assert.equal(await add({}), name === 'unblock', name)
  }
  await move(h, phone, 'unblock')
  await changeSubject(h.service, phone.subject_id as SubjectId, 'block')
  assert.equal(await add({}), false)
})

test(`a subject has at most ${MAX_KEYS_PER_SUBJECT} keys, and can add one after a removal`, async () => {
  await using h = await setUp()
  const phone = await h.register()
  for (let count = 1; count < MAX_KEYS_PER_SUBJECT; count++) await h.register(phone)
  await assert.rejects(h.register(phone), /too_many_keys/)
  const second = (await keysOf(h, phone)).find((id) => id !== phone.device_id) ?? ''
  assert.equal((await h.removeKey(phone, { device_id: second })).status, 204)
  await h.register(phone)
})

test('rejects an approval of a key that is stronger than the approving one', async () => {
  await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
  const software = await h.register()
  const passkey = await h.register(undefined, webauthnKey('unattested'))
  for (const key of [appleKey(), androidKey(), webauthnKey()]) {
    await assert.rejects(h.register(software, key), /approving_key_too_weak/)
    await assert.rejects(h.register(passkey, key), /approving_key_too_weak/)
    h.clock.advance(1)
  }
  await assert.rejects(h.register(software, webauthnKey('unattested')), /approving_key_too_weak/)
  const apple = await h.register(undefined, appleKey())
  for (const key of [androidKey(), webauthnKey(), webauthnKey('unattested'), undefined])
    assert.equal((await h.register(apple, key)).subject_id, apple.subject_id)
})
