import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { revokeKey } from '@bonded/core/operations/admin/keys'
import { expireSessions } from '@bonded/core/operations/maintenance/expire-sessions'
import { purgeSessions } from '@bonded/core/operations/maintenance/purge-sessions'
import { randomFor } from '../../../../tests/random.ts'
import {
  bondedUser,
  HOUR,
  INBOX_WORKFLOWS,
  inboxHarness,
  reasonOf,
} from '../../../../tests/harness/inbox.ts'
import { sql } from '../subject/stored-bytes.ts'

const MINUTE = 60_000
const DAY = { workflow: 'day' }

type Scene = Awaited<ReturnType<typeof callersHarness>>

/** A user of a tenant with two backends, each with its own credential. */
async function callersHarness() {
  const scene = await inboxHarness()
  const { server: mad } = await scene.h.addKeys(scene.h.shop.tenant, null)
  return { ...scene, mad }
}

/** The status of a create, its reason, and how long to wait. */
async function attempt(scene: Scene, given: object = {}, by?: string) {
  const { status, body, headers } = await scene.tryCreate(given, by)
  return status === 201 ? 201 : [status, reasonOf({ body }), Number(headers['retry-after'])]
}

const reason = async (scene: Scene, by?: string) => reasonOf(await scene.tryCreate(DAY, by))

/** What the phone opens a request with. */
async function listed({ open }: Scene, { id }: CreatedSession) {
  const { items } = (await open()).body as { items: { session_id: string; nonce: string }[] }
  const item = items.find(({ session_id }) => session_id === id)
  assert.ok(item !== undefined, 'the request is listed')
  return { id: item.session_id, nonce: item.nonce }
}

/** Creates a request of the first backend, which the user approves. */
async function approve(scene: Scene): Promise<void> {
  const { h, phone } = scene
  const created = await scene.tryCreate({ workflow: 'agent' })
  assert.equal(created.status, 201, created.text)
  const item = await listed(scene, created.body)
  await h.claim(phone, item)
  assert.equal((await h.attest(phone, await h.view(phone, item))).status, 200)
}

/** What the other backend does with each request that it has got into the inbox. */
const HABITS: Readonly<
  Record<string, (scene: Scene, created: CreatedSession) => Promise<unknown>>
> = {
  'lets its requests wait': async () => {},
  'withdraws its requests': ({ h }, created) => h.kill(created),
  'withdraws its requests once a phone has opened them': async (scene, created) => {
    await scene.h.claim(scene.phone, await listed(scene, created))
    await scene.h.kill(created)
  },
  'asks again when the user declines': async (scene, created) =>
    scene.h.decline(scene.phone, await listed(scene, created)),
}

for (const [habit, end] of Object.entries(HABITS))
  test(`a caller that ${habit} keeps no other one out at any hour of a day`, async () => {
    await using scene = await callersHarness()
    const { h, mad } = scene
    for (let minute = 0; minute <= 24 * 60; minute += 20) {
      for (;;) {
        // A caller can name many workflows.
        const workflow = minute % 40 === 0 ? 'agent' : 'day'
        const created = await scene.tryCreate({ workflow }, mad)
        if (created.status !== 201) break
        await end(scene, created.body)
      }
      if (minute % 60 === 0) await approve(scene)
      if (minute % 60 === 0) await purgeSessions(h.service)
      h.clock.advance(20 * MINUTE)
    }
  })

test('five requests of a tenant wait for a user, and four of one credential', async () => {
  await using scene = await callersHarness()
  const { mad } = scene
  for (let n = 0; n < 4; n++) assert.equal(await attempt(scene, DAY, mad), 201)
  assert.equal(await reason(scene, mad), 'inbox_full')
  assert.equal(await attempt(scene, DAY), 201)
  assert.equal(await reason(scene), 'inbox_full')
  // A third credential gets no place of its own: the user's total is five.
  const third = await scene.h.addKeys(scene.h.shop.tenant, null)
  assert.equal(await reason(scene, third.server), 'inbox_full')
  assert.equal(await scene.count(), 5)
  // Another tenant is neither rejected, nor does it learn of it.
  const other = await scene.h.addTenant({ name: 'Other', workflows: INBOX_WORKFLOWS })
  const { subjectRef } = await bondedUser(scene.h, other, scene.phone)
  scene.h.clock.advance(1)
  assert.equal(await attempt(scene, { subject_ref: subjectRef }, other.server), 201)
})

test('concurrent creates of two credentials share the places as those in turn do', async () => {
  await using scene = await callersHarness()
  const { mad } = scene
  const tried = Array.from({ length: 12 }, (_, n) => (n < 8 ? mad : undefined))
  const replies = await Promise.all(tried.map((by) => scene.tryCreate(DAY, by)))
  const places = (by?: string) =>
    replies.filter(({ status }, n) => status === 201 && tried[n] === by).length
  assert.equal(places() + places(mad), 5)
  assert.ok(places() >= 1 && places(mad) >= 1)
})

test('a credential whose requests stay unanswered has one place until the user answers', async () => {
  await using scene = await callersHarness()
  const { h, phone, mad } = scene
  for (let n = 0; n < 4; n++) assert.equal(await attempt(scene, DAY, mad), 201)
  // Neither the purge of the sessions nor a month without a request gives the places back.
  h.clock.advance(30 * 24 * HOUR)
  await expireSessions(h.service)
  await purgeSessions(h.service)
  const one = await scene.tryCreate(DAY, mad)
  assert.equal(one.status, 201)
  assert.equal(await reason(scene, mad), 'inbox_full')
  // The other credential is not affected.
  assert.equal(await attempt(scene, DAY), 201)
  // To withdraw it and to ask again makes no second place.
  await h.kill(one.body)
  const next = await scene.tryCreate(DAY, mad)
  assert.equal(next.status, 201)
  assert.equal(await reason(scene, mad), 'inbox_full')
  await h.decline(phone, await listed(scene, next.body))
  h.clock.advance(MINUTE)
  for (let n = 0; n < 4; n++) assert.equal(await attempt(scene, DAY, mad), 201)
})

test('a withdrawal that no phone has opened counts against the quota only', async () => {
  await using scene = await callersHarness()
  const { h, phone, mad } = scene
  for (let n = 0; n < 5; n++) await h.kill((await scene.tryCreate(DAY, mad)).body)
  assert.deepEqual(await attempt(scene, DAY, mad), [429, 'rate_limited', 60])
  h.clock.advance(MINUTE)
  // All places are left, and the first request that the user declines is the first in a row.
  for (let n = 0; n < 4; n++) assert.equal(await attempt(scene, DAY, mad), 201)
  const { items } = (await scene.open()).body
  await h.decline(phone, { id: items[0].session_id, nonce: items[0].nonce })
  assert.deepEqual(await attempt(scene, DAY, mad), [429, 'rate_limited', 60])
})

/** The credentials of which the store counts requests. */
async function counted({ h }: Scene) {
  const rows = await sql(h, 'select key_id from inbox_caller order by key_id')
  return rows.map(({ key_id }) => String(key_id))
}

/** Moves the clock, and runs the purge until it has checked all users. */
async function purgeFor({ h }: Scene, ms: number) {
  h.clock.advance(ms)
  await expireSessions(h.service)
  for (let round = 0; round < 2; round++) await purgeSessions(h.service)
}

test('a purge deletes the counts of a credential three days after its revocation', async () => {
  await using scene = await callersHarness()
  const { h, mad } = scene
  assert.equal(await attempt(scene, DAY, mad), 201)
  const [gone = ''] = await counted(scene)
  assert.equal(await attempt(scene, DAY), 201)
  const keys = await counted(scene)
  assert.equal(keys.length, 2)
  await revokeKey(h.service, gone)
  await purgeFor(scene, 72 * HOUR - 1)
  assert.deepEqual(await counted(scene), keys)
  await purgeFor(scene, 1)
  assert.deepEqual(
    await counted(scene),
    keys.filter((key) => key !== gone),
  )
  // Those of a credential that works stay until the user answers.
  await purgeFor(scene, 365 * 24 * HOUR)
  assert.equal((await counted(scene)).length, 1)
})

test('a purge deletes the counts of an answered credential three days after its last request', async () => {
  await using scene = await callersHarness()
  await approve(scene)
  await purgeFor(scene, 72 * HOUR - 1)
  assert.equal((await counted(scene)).length, 1)
  await purgeFor(scene, 1)
  assert.deepEqual(await counted(scene), [])
})

test('a withdrawal after an approval leaves no count below zero', async () => {
  await using scene = await callersHarness()
  const { h } = scene
  const waiting = await scene.tryCreate(DAY)
  await approve(scene)
  await h.kill(waiting.body)
  const [counts] = await sql(h, 'select since_approval, since_answer from inbox_caller')
  assert.deepEqual([Number(counts?.since_approval), Number(counts?.since_answer)], [0, 0])
})

test('Retry-After is the time after which a create succeeds, if nothing happens meanwhile', async () => {
  await using scene = await callersHarness()
  const { h, phone } = scene
  const random = randomFor('retry-after of an inbox')
  const waits: number[] = []
  while (waits.length < 20) {
    const workflow = random(2) === 0 ? 'agent' : 'day'
    const { status, body, headers } = await scene.tryCreate({ workflow })
    if (status === 201) {
      const end = random(4)
      if (end === 0) await h.kill(body)
      if (end === 1) await h.decline(phone, await listed(scene, body))
      h.clock.advance(random(3 * MINUTE))
      continue
    }
    const waitMs = Number(headers['retry-after']) * 1_000
    waits.push(waitMs)
    h.clock.advance(waitMs - 1_000)
    assert.notEqual(await attempt(scene), 201)
    h.clock.advance(1_000)
    assert.equal(await attempt(scene), 201)
  }
})

test('Retry-After of a pause has the wait that goes on after it', async () => {
  await using scene = await callersHarness()
  const { h, phone } = scene
  for (const minutes of [1, 5, 15, 60]) {
    await h.decline(phone, (await scene.ask()).listed)
    h.clock.advance(minutes * MINUTE)
  }
  await h.decline(phone, (await scene.ask()).listed, 'user_unexpected')
  assert.deepEqual(await attempt(scene), [409, 'inbox_paused', 4 * 3_600])
  h.clock.advance(4 * HOUR)
  assert.equal(await attempt(scene), 201)
})
