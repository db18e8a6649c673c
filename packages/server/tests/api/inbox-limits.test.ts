import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Inbox, WebhookEvent } from '@bonded/contract'
import { createEndpoint } from '@bonded/core/operations/admin/webhooks'
import { purgeSessions } from '@bonded/core/operations/maintenance/purge-sessions'
import { BONDED_TTL_SECONDS } from '@bonded/core/domain/lifetimes'
import { USUAL_LIMITS } from '@bonded/core/domain/limits'
import { personReference } from '@bonded/core/operations/audit/audit'
import { changeSubject, resumeInboxes } from '@bonded/core/operations/admin/subjects'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { bondedUser, HOUR, inboxHarness, reasonOf } from '../../../../tests/harness/inbox.ts'

const MINUTE = 60_000

type Scene = Awaited<ReturnType<typeof inboxHarness>>

/** The status of a create, its reason, and how long to wait. */
async function attempt(scene: Scene, given: object = {}) {
  const { status, body, headers } = await scene.tryCreate(given)
  return status === 201 ? 201 : [status, reasonOf({ body }), Number(headers['retry-after'])]
}

/** Approves a request, so that nothing keeps the tenant from the next one. */
async function approve({ h, phone, ask }: Scene, given: object = {}) {
  const { listed } = await ask(given)
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
}

test('a credential creates five requests a minute and twenty an hour for a user', async () => {
  await using scene = await inboxHarness()
  for (let n = 0; n < 5; n++) await approve(scene)
  assert.deepEqual(await attempt(scene), [429, 'rate_limited', 60])
  scene.h.clock.advance(MINUTE)
  for (let n = 5; n < 20; n++) {
    await approve(scene)
    scene.h.clock.advance(MINUTE)
  }
  assert.deepEqual(await attempt(scene), [429, 'rate_limited', 60 * (60 - 16)])
  scene.h.clock.advance(44 * MINUTE)
  assert.equal(await attempt(scene), 201)
})

test('an idempotent repetition counts once, and a rejected create takes no key', async () => {
  await using scene = await inboxHarness()
  const headers = { 'idempotency-key': 'a' }
  const first = await scene.tryCreate({}, scene.h.shop.server, headers)
  for (let n = 0; n < 9; n++)
    assert.equal((await scene.tryCreate({}, scene.h.shop.server, headers)).body.id, first.body.id)
  for (let n = 1; n < 4; n++) assert.equal(await attempt(scene), 201)
  const other = { 'idempotency-key': 'b' }
  const rejected = await scene.tryCreate({}, scene.h.shop.server, other)
  assert.equal(reasonOf(rejected), 'inbox_full')
  await scene.h.kill(first.body)
  scene.h.clock.advance(MINUTE)
  assert.equal((await scene.tryCreate({}, scene.h.shop.server, other)).status, 201)
})

test('five concurrent creates take the last place once', async () => {
  await using scene = await inboxHarness()
  for (let n = 0; n < 3; n++) assert.equal(await attempt(scene), 201)
  const statuses = await Promise.all(
    [1, 2, 3, 4, 5].map(async () => (await scene.tryCreate()).status),
  )
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [201, 429, 429, 429, 429],
  )
})

test('after requests without an approval a credential waits 1, 5, 15, 60 minutes, 4 hours and a day', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const declined = async () => h.decline(phone, (await scene.ask()).listed)
  const expired = async () => {
    await scene.tryCreate()
    h.clock.advance(300_000)
  }
  const withdrawn = async () => {
    const { session, listed } = await scene.ask()
    await h.claim(phone, listed)
    await h.kill(session)
  }
  for (const [end, minutes] of [
    [declined, 1],
    [expired, 5],
    [withdrawn, 15],
    [declined, 60],
    [expired, 240],
    [declined, 1_440],
    [expired, 1_440],
    [declined, 1_440],
  ] as const) {
    await end()
    assert.deepEqual(await attempt(scene), [429, 'rate_limited', minutes * 60])
    // What a day's wait follows is not stored any more at its end.
    await purgeSessions(h.service)
    h.clock.advance(minutes * MINUTE)
    await purgeSessions(h.service)
  }
  await approve(scene)
  assert.equal(await attempt(scene), 201)
})

test('the waits begin anew three days after the last request of a credential', async () => {
  await using scene = await inboxHarness()
  const decline = async () => scene.h.decline(scene.phone, (await scene.ask()).listed)
  for (const [hours, minutes] of [
    [26, 1],
    [71, 5],
    [72, 15],
    [0, 1],
  ] as const) {
    await decline()
    assert.deepEqual(await attempt(scene), [429, 'rate_limited', minutes * 60])
    await purgeSessions(scene.h.service)
    scene.h.clock.advance(hours * HOUR)
    await purgeSessions(scene.h.service)
  }
})

test('a report ends the other requests of the tenant, and pauses it for an hour, then a day', async () => {
  await using scene = await inboxHarness()
  const { h, phone, subjectRef } = scene
  const events = await endpointOf(scene)
  const report = async () => {
    const other = await scene.ask()
    const { listed } = await scene.ask()
    assert.equal((await h.decline(phone, listed, 'user_unexpected')).status, 200)
    const { state, ended_reason } = (await h.get(other.session)).body
    assert.deepEqual([state, ended_reason], ['killed', 'user_unexpected'])
  }
  await report()
  assert.deepEqual(await attempt(scene), [409, 'inbox_paused', 3_600])
  const reported = (await events()).filter(({ type }) => type === 'session.reported')
  const until = new Date(h.clock.now() + HOUR).toISOString()
  assert.deepEqual(
    reported.map(({ data }) => [data.advisory, data.inbox_paused_until]),
    [
      [false, until],
      [false, until],
    ],
  )
  const [waiting] = (await events()).filter(({ type }) => type === 'session.waiting')
  assert.deepEqual(
    [waiting?.data.subject_ref, waiting?.data.inbox_url],
    [subjectRef, 'https://bond.example/inbox'],
  )
  h.clock.advance(HOUR)
  await report()
  assert.deepEqual(await attempt(scene), [409, 'inbox_paused', 86_400])
  // A page is another matter.
  assert.equal(
    (await h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'page' } })).status,
    201,
  )
})

test('a report on a page pauses no inbox', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  await h.decline(phone, await h.create({ workflow: 'page' }), 'user_unexpected')
  assert.equal(await attempt(scene), 201)
})

test('the user ends a pause with a signature of an older phone, and the operator can', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const tenantId = h.shop.tenant.id
  const report = async () => h.decline(phone, (await scene.ask()).listed, 'user_unexpected')
  await report()
  const added = await h.register(phone)
  const { paused } = (await scene.open()).body
  assert.deepEqual(paused, [
    {
      tenant_id: tenantId,
      tenant_name: 'Shop',
      paused_until: new Date(h.clock.now() + HOUR).toISOString(),
    },
  ])
  assert.equal(reasonOf(await scene.resume(added, tenantId)), 'key_too_new')
  assert.equal((await scene.resume(phone, tenantId)).status, 204)
  assert.deepEqual((await scene.open()).body.paused, [])
  // The wait after a request without an approval remains.
  assert.deepEqual(await attempt(scene), [429, 'rate_limited', 60])
  h.clock.advance(MINUTE)
  await report()
  await resumeInboxes(h.service, phone.subject_id as never)
  await assert.rejects(resumeInboxes(h.service, phone.subject_id as never), /No tenant is paused/)
  assert.deepEqual((await scene.open()).body.paused, [])
})

test('a phone ends the pause of the tenant that it names, and neither another one nor another user’s', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const other = await h.addTenant({ name: 'Other', workflows: h.shop.tenant.workflows })
  const { subjectRef: subject_ref } = await bondedUser(h, other, phone)
  h.clock.advance(1)
  await scene.tryCreate()
  await scene.tryCreate({ subject_ref }, other.server)
  const tenants = [h.shop.tenant.id, other.tenant.id]
  const user = await bondedUser(h)
  h.clock.advance(1)
  await scene.tryCreate({ subject_ref: user.subjectRef })
  for (const each of [phone, user.phone])
    for (const { session_id: id, nonce } of (await scene.open(each)).body.items)
      await h.decline(each, { id, nonce }, 'user_unexpected')
  const paused = async (of = phone) =>
    ((await scene.open(of)).body as Inbox).paused.map(({ tenant_id }) => tenant_id)
  assert.deepEqual((await paused()).toSorted(), tenants.toSorted())
  for (const [index, tenantId] of tenants.entries()) {
    assert.equal((await scene.resume(phone, tenantId)).status, 204)
    assert.deepEqual(await paused(), tenants.slice(index + 1))
  }
  assert.deepEqual(await paused(user.phone), [h.shop.tenant.id])
})

test('the audit log has the pause of an inbox and who ended it, by references of the user', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const tenantId = h.shop.tenant.id
  await h.decline(phone, (await scene.ask()).listed, 'user_declined')
  h.clock.advance(MINUTE)
  await h.decline(phone, (await scene.ask()).listed, 'user_unexpected')
  await scene.resume(phone, tenantId)
  // Without a pause it changes nothing.
  await scene.resume(phone, tenantId)
  const entries = await h.service.store.read(({ audit }) => audit.list({ limit: 10 }))
  const until = h.clock.now() + HOUR
  const shown = (value: string | null) => Object.values(JSON.parse(value ?? '{}') as object)
  assert.deepEqual(
    entries.map((entry) => [entry.action, shown(entry.valueBefore), shown(entry.valueAfter)]),
    [
      ['declineSession', [0], [until]],
      ['resumeInbox', [until], [0]],
    ],
  )
  const reference = await personReference(h.service, phone.subject_id as never)
  for (const entry of entries) {
    assert.deepEqual([entry.actorKind, entry.tenantId, entry.person], ['user', tenantId, reference])
    assert.match(entry.requestId, /^req_/)
    assert.equal((JSON.parse(entry.target) as { device?: string }).device, entry.actor)
    for (const id of [phone.device_id, phone.subject_id])
      assert.ok(!JSON.stringify(entry).includes(id))
  }
})

test('the timeline of a request has its opening, and that the user declined', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const { session, listed } = await scene.ask()
  await h.claim(phone, listed)
  await h.decline(phone, listed, 'user_unexpected')
  const { body } = await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  const entries = body.entries as readonly { kind: string; reason: string | null }[]
  assert.deepEqual(
    entries.map(({ kind, reason }) => [kind, reason]),
    [
      ['created', null],
      ['scanned', null],
      ['killed', 'user_unexpected'],
    ],
  )
})

test('an approval of a request that may wait a day is usable for the time of a bond only', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const { session, listed } = await scene.ask({ workflow: 'day' })
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
  const { state, expires_at, server_time } = (await h.get(session)).body
  assert.deepEqual(
    [state, Date.parse(expires_at) - Date.parse(server_time)],
    ['bonded', BONDED_TTL_SECONDS * 1000],
  )
  h.clock.advance(BONDED_TTL_SECONDS * 1000)
  assert.equal((await h.get(session)).body.state, 'expired')
})

test('the end of a pause is in no timeline of another tenant', async () => {
  await using scene = await inboxHarness()
  const { h, phone } = scene
  const other = await h.addTenant({ name: 'Other' })
  const session = await h.create(undefined, other)
  await h.claim(phone, session)
  await h.decline(phone, (await scene.ask()).listed, 'user_unexpected')
  await resumeInboxes(h.service, phone.subject_id as never)
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: other.server })
  ).body as { entries: readonly { reason: string | null }[] }
  assert.deepEqual(
    entries.filter(({ reason }) => reason?.includes('inbox')),
    [],
  )
})

test('a blocked phone counts no requests', async () => {
  await using scene = await inboxHarness()
  await scene.ask()
  assert.equal(await scene.count(), 1)
  await changeSubject(scene.h.service, scene.phone.subject_id as never, 'block')
  assert.equal(await scene.count(), 0)
})

test('an Idempotency-Key of a request that waits a day creates no second one', async () => {
  await using scene = await inboxHarness()
  const { h } = scene
  const create = () =>
    scene.tryCreate({ workflow: 'day' }, h.shop.server, { 'idempotency-key': 'pay' })
  const first = (await create()).body
  for (const hours of [3, 20, 1.9]) {
    h.clock.advance(hours * HOUR)
    await purgeSessions(h.service)
    assert.equal((await create()).body.id, first.id)
  }
  assert.equal((await h.get(first)).body.state, 'expired')
  h.clock.advance(2 * HOUR)
  await purgeSessions(h.service)
  assert.notEqual((await create()).body.id, first.id)
})

test('the quota of a session does not refill in a day', async () => {
  await using scene = await inboxHarness({ limits: USUAL_LIMITS })
  const { h, phone } = scene
  const { session } = await scene.ask({ workflow: 'day' })
  const evidence = async () => {
    const [item] = (await scene.open()).body.items
    const listed = { id: session.id, nonce: item.nonce }
    await h.claim(phone, listed)
    return h.evidence(phone, await h.view(phone, listed))
  }
  for (let n = 0; n < 6; n++) {
    assert.equal((await evidence()).status, 200)
    h.clock.advance(3 * HOUR)
  }
  assert.equal(reasonOf(await evidence()), 'rate_limited')
})

test('a root key that is rotated in the meantime loses no request', async () => {
  const rootKeys = [ROOT_KEY]
  await using scene = await inboxHarness({ rootKeys })
  const { h, phone } = scene
  const { session } = await scene.ask({ workflow: 'day' })
  rootKeys.unshift({ id: 'k2', bytes: randomBytes(32) })
  await h.restart()
  h.clock.advance(23 * HOUR)
  const [item] = (await scene.open()).body.items
  const listed = { id: session.id, nonce: item.nonce }
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
  assert.equal((await h.complete(session)).status, 200)
})

/** A webhook endpoint, and the events that were written for it. */
async function endpointOf({ h }: Scene): Promise<() => Promise<readonly WebhookEvent[]>> {
  const tenantId = h.shop.tenant.id
  const url = 'https://hooks.shop.example/bonded'
  await createEndpoint(h.service, { tenantId, url, events: null, scheme: 'v1' })
  return async () => {
    const { deliveries } = await h.service.store.read(({ webhooks }) =>
      webhooks.deliveries({ tenantId, limit: 100 }),
    )
    return deliveries.map(({ payload }) => JSON.parse(payload) as WebhookEvent)
  }
}
