import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeviceId, makeId, type SessionId, type SubjectId } from '@bonded/contract'
import { inspectDevice, moveDevice } from '@bonded/core/operations/admin/devices'
import { listAudit } from '@bonded/core/operations/admin/list-audit'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import { issueKey, listKeys } from '@bonded/core/operations/admin/keys'
import { changeSubject, inspectSubject } from '@bonded/core/operations/admin/subjects'
import { resumeTenant, suspendTenant } from '@bonded/core/operations/admin/suspend-tenant'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import { createEndpoint, inspectEvent } from '@bonded/core/operations/admin/webhooks'
import type { Harness } from '../../../tests/harness/harness.ts'
import { includes, type Role, ROLES } from '../src/roles.ts'
import { ROUTES } from '../src/routes.ts'
import { addressOf, type Names, namesIn } from './addresses.ts'
import { MINUTE } from './harness.ts'
import { tokenIn } from './http-client.ts'
import { actionAt } from './page-at.ts'
import { MARKUP, setup } from './setup.ts'

const HOUR = 60 * MINUTE

/** What an action changes: how it is before, afterwards, and where it is read. */
interface Case {
  readonly role: Role
  /** Makes something to act on anew. Returns the names that differ. */
  readonly prepare: (h: Harness, ids: Names) => Promise<Partial<Names> | void>
  readonly state: (h: Harness, ids: Names) => Promise<unknown>
  readonly from: unknown
  readonly to: unknown
  /** The status of the same form, sent once more. */
  readonly again: 303 | 409
}

const isBlocked = async ({ service }: Harness, { subject }: Names) =>
  (await inspectSubject(service, subject)).blockedAt !== undefined
const statusOf = async ({ service }: Harness, { device }: Names) =>
  (await inspectDevice(service, device)).device.status
const isSuspended = async ({ service }: Harness, { tenant }: Names) =>
  (await findTenant(service, tenant)).suspendedAt !== undefined
const deliveryState = async ({ service }: Harness, { event }: Names) =>
  (await inspectEvent(service, event)).map(({ state }) => state).join()
const isPaused = async ({ service }: Harness, { subject }: Names) =>
  (await inspectSubject(service, subject)).references.some(
    ({ inboxPausedUntil }) => inboxPausedUntil > service.clock.now(),
  )
const isRevoked = async ({ service }: Harness, { tenant, key }: Names) =>
  (await listKeys(service, tenant)).find((each) => each.key === key)?.revokedAt !== null

async function newUser(h: Harness) {
  const { device_id, subject_id } = await h.register()
  return { device: device_id as DeviceId, subject: subject_id as SubjectId }
}

/** Records that every delivery of the endpoint has failed. */
async function failDeliveries({ service }: Harness, { endpoint }: Names) {
  const now = service.clock.now()
  await service.store.write(function* ({ webhooks }) {
    const lease = { now, limit: 100, until: now + 1, held: 0, leasedUntil: now + 1 }
    const found = yield* webhooks.claim(endpoint, lease)
    const attempt = { at: now, ms: 7, status: 500, body: MARKUP }
    for (const delivery of found?.claimed ?? [])
      yield* webhooks.record(delivery, attempt, { state: 'failed', dueAt: null })
    yield* webhooks.release(endpoint, now + 1)
  })
}

const CASES: Readonly<Record<string, Case>> = {
  '/sessions/:session/end': {
    role: 'support',
    prepare: async (h) => ({ session: (await h.create()).id as SessionId }),
    state: async ({ service }, { session }) => (await inspectSession(service, session)).state,
    from: 'pending',
    to: 'killed',
    again: 303,
  },
  '/users/:subject/block': {
    role: 'support',
    prepare: newUser,
    state: isBlocked,
    from: false,
    to: true,
    again: 409,
  },
  '/users/:subject/unblock': {
    role: 'support',
    async prepare(h) {
      const user = await newUser(h)
      await changeSubject(h.service, user.subject, 'block')
      return user
    },
    state: isBlocked,
    from: true,
    to: false,
    again: 409,
  },
  '/users/:subject/resume-inbox/:tenant': {
    role: 'support',
    async prepare({ service }, { tenant: tenantId, subject: subjectId }) {
      const until = service.clock.now() + HOUR
      await service.store.write(({ subjects }) =>
        subjects.pauseInbox({ tenantId, subjectId }, until),
      )
    },
    state: isPaused,
    from: true,
    to: false,
    again: 409,
  },
  '/devices/:device/block': {
    role: 'support',
    prepare: newUser,
    state: statusOf,
    from: 'active',
    to: 'blocked',
    again: 409,
  },
  '/devices/:device/unblock': {
    role: 'support',
    async prepare(h) {
      const user = await newUser(h)
      await moveDevice(h.service, user.device, 'block')
      return user
    },
    state: statusOf,
    from: 'blocked',
    to: 'active',
    again: 409,
  },
  '/events/:event/retry/:endpoint': {
    role: 'support',
    prepare: failDeliveries,
    state: deliveryState,
    from: 'failed',
    to: 'pending',
    again: 303,
  },
  '/tenants/:tenant/endpoints/:endpoint/recover/:since': {
    role: 'admin',
    prepare: failDeliveries,
    state: deliveryState,
    from: 'failed',
    to: 'pending',
    again: 303,
  },
  '/tenants/:tenant/keys/:key/revoke': {
    role: 'admin',
    prepare: ({ service }, { tenant: tenantId }) =>
      issueKey(service, { tenantId, kind: 'server', scope: null, name: 'old' }),
    state: isRevoked,
    from: false,
    to: true,
    again: 409,
  },
  '/tenants/:tenant/suspend': {
    role: 'admin',
    prepare: async ({ service }, { tenant }) => void (await resumeTenant(service, tenant)),
    state: isSuspended,
    from: false,
    to: true,
    again: 303,
  },
  '/tenants/:tenant/resume': {
    role: 'admin',
    prepare: async ({ service }, { tenant }) => void (await suspendTenant(service, tenant)),
    state: isSuspended,
    from: true,
    to: false,
    again: 303,
  },
}

const ACTIONS = ROUTES.flatMap((route) => ('changes' in route ? [route] : []))

test('every action has a case here', () => {
  assert.deepEqual(ACTIONS.map(({ path }) => path).toSorted(), Object.keys(CASES).toSorted())
})

for (const { path, changes } of ACTIONS)
  test(`${path}: the roles that may, ask first, act once, and leave an entry`, async (t) => {
    const { h, signedIn, entries, advance } = await setup(t)
    const { role: needed, prepare, state, from, to, again } = CASES[path] as Case
    const first = await namesIn(h)
    for (const role of ROLES) {
      const names = { ...first, ...(await prepare(h, first)) }
      const address = addressOf(path, names)
      const last = async () => {
        const { action, result, reason } = (await entries()).at(-1) ?? {}
        return [action, result, reason]
      }
      const visitor = await signedIn(role)
      const shown = await visitor.open(actionAt(address).next)
      const isOffered = shown.text.includes(`href="${address}"`)
      assert.equal(isOffered, includes(role, needed), `${role} ${shown.status}`)
      const asked = await visitor.open(address)
      assert.equal(await state(h, names), from, 'the question changes something')
      if (!includes(role, needed)) {
        assert.equal(asked.status, 403)
        assert.equal((await visitor.submit(address)).status, 403)
        assert.deepEqual(await last(), [changes, 'refused_role', null])
        assert.equal(await state(h, names), from)
        continue
      }
      assert.equal(asked.status, 200, asked.text)
      assert.match(asked.text, /You can(?:not)? undo this/)
      const token = tokenIn(asked.text)
      for (const wrong of [{ token: 'x' }, { token, origin: 'https://evil.example' }])
        assert.equal((await visitor.submit(address, wrong)).status, 403)
      assert.equal(await state(h, names), from)
      const sent = { token, form: { reason: 'T-1' } }
      const done = await visitor.submit(address, sent)
      assert.equal(done.status, 303, done.text)
      assert.equal(await state(h, names), to)
      assert.deepEqual(await last(), [changes, 'success', 'T-1'])
      assert.equal((await visitor.open(String(done.headers['location']))).status, 200)
      assert.equal((await visitor.submit(address, sent)).status, again)
      assert.deepEqual(await last(), [changes, again === 409 ? 'conflict' : 'success', 'T-1'])
      assert.equal(await state(h, names), to)
      await prepare(h, names)
      advance(5 * MINUTE)
      const late = await visitor.submit(address, sent)
      assert.match(late.text, /Your sign-in is too long ago/)
    }
  })

test('an address with an unknown id, or with ids of two tenants, is not found and changes nothing', async (t) => {
  const { h, signedIn, entries } = await setup(t)
  const names = await namesIn(h)
  const other = await h.addTenant({ name: 'Other' })
  const second = await createEndpoint(h.service, {
    tenantId: other.tenant.id,
    url: 'https://hooks.example/other',
    events: null,
    scheme: 'v1',
  })
  await failDeliveries(h, names)
  const admin = await signedIn('admin')
  const id = <P extends Parameters<typeof makeId>[0]>(prefix: P) =>
    makeId(prefix, h.service.random.id())
  const unknown = {
    tenant: id('ten'),
    session: id('sess'),
    device: id('dev'),
    subject: id('sub'),
    subject_ref: 'x'.repeat(43),
    event: id('evt'),
    endpoint: id('we'),
    key: 'x'.repeat(10),
  }
  const named = ROUTES.filter(({ path }) => addressOf(path, names) !== path && path !== '/sessions')
  for (const [what, value] of Object.entries(unknown))
    for (const route of named) {
      const address = addressOf(route.path, { ...names, [what]: value })
      if (address === addressOf(route.path, names)) continue
      assert.equal((await admin.open(address)).status, 404, address)
      if (!('changes' in route)) continue
      assert.equal((await admin.submit(address)).status, 404, address)
      const { action, result } = (await entries()).at(-1) ?? {}
      assert.deepEqual([action, result], [route.changes, 'not_found'])
    }
  const mixed = [
    `/user?tenant=${other.tenant.id}&subject_ref=${names.subject_ref}`,
    `/tenants/${other.tenant.id}/keys/${names.key}/revoke`,
    `/tenants/${other.tenant.id}/endpoints/${names.endpoint}/recover/24h`,
    `/tenants/${names.tenant}/endpoints/${names.endpoint}/recover/9h`,
    `/users/${names.subject}/resume-inbox/${other.tenant.id}`,
    `/events/${names.event}/retry/${second.endpoint.id}`,
  ]
  for (const address of mixed) {
    assert.equal((await admin.open(address)).status, 404, address)
    assert.equal((await admin.submit(address)).status, 404, address)
  }
  assert.deepEqual(
    [await isRevoked(h, names), await deliveryState(h, names), await statusOf(h, names)],
    [false, 'failed', 'active'],
  )
})

test('stored text on the pages of users, deliveries, and keys is never markup', async (t) => {
  const { h, signedIn } = await setup(t)
  const names = await namesIn(h)
  const { tenant: tenantId, subject: subjectId, event, endpoint } = names
  const other = await h.addTenant({ name: MARKUP })
  const user = await h.register()
  await failDeliveries(h, names)
  await h.service.store.write(function* ({ devices, tenants, webhooks }) {
    yield* devices.pairwise({ tenantId: other.tenant.id, subjectId, subjectRef: MARKUP })
    const key = { key: 'pk_beta_markup', tenantId, scope: null, name: MARKUP }
    yield* tenants.addPublishableKey({ ...key, now: h.clock.now() })
    const found = yield* webhooks.findEndpoint(endpoint)
    if (found) yield* webhooks.updateEndpoint({ ...found, url: MARKUP })
  })
  const admin = await signedIn('admin')
  const encoded = encodeURIComponent(MARKUP)
  const escaped = '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\u{202e}'
  for (const path of [
    `/user?subject=${subjectId}`,
    `/users/${subjectId}/resume-inbox/${other.tenant.id}`,
    `/tenants/${tenantId}/deliveries?state=${encoded}&before=${encoded}`,
    `/tenants/${tenantId}/endpoints/${endpoint}/recover/7d`,
    `/events/${event}`,
    `/tenants/${tenantId}/keys/pk_beta_markup/revoke`,
    `/tenants/${other.tenant.id}/suspend`,
  ]) {
    const { status, text } = await admin.open(path)
    assert.equal(status, 200, path)
    assert.doesNotMatch(text, /<script|\u202e/, path)
    assert.ok(text.includes(escaped), path)
  }
  for (const path of [
    `/user?subject=${encoded}`,
    `/users/${encoded}/block`,
    `/devices/${encoded}`,
    `/sessions?tenant=${tenantId}&subject_ref=${encoded}`,
  ])
    assert.equal((await admin.open(path)).status, 404, path)
  assert.equal((await admin.open(`/user?subject=${user.subject_id}`)).status, 200)
})

test('links lead from a session to its user, its device, and its tenant’s deliveries', async (t) => {
  const { h, signedIn } = await setup(t)
  const names = await namesIn(h)
  const support = await signedIn('support')
  const linksOf = async (path: string) =>
    [...(await support.open(path)).text.matchAll(/href="([^"]+)"/g)].map(([, to = '']) =>
      to.replaceAll('&amp;', '&'),
    )
  const steps = [
    [addressOf('/sessions/:session', names), addressOf('/user', names)],
    [addressOf('/user', names), addressOf('/devices/:device', names)],
    [addressOf('/user', names), addressOf('/sessions', names)],
    [addressOf('/user', names), `/rejections?q=${names.subject_ref}`],
    [addressOf('/devices/:device', names), `/user?subject=${names.subject}`],
    [addressOf('/tenants/:tenant', names), addressOf('/tenants/:tenant/deliveries', names)],
    [addressOf('/tenants/:tenant/deliveries', names), addressOf('/events/:event', names)],
    [addressOf('/events/:event', names), addressOf('/events/:event/retry/:endpoint', names)],
  ] as const
  for (const [from, to] of steps) {
    assert.ok((await linksOf(from)).includes(to), `${from} has no link to ${to}`)
    assert.equal((await support.open(to)).status, 200, to)
  }
  // Support sees no link to what only an administrator may do.
  const links = await linksOf(addressOf('/tenants/:tenant', names))
  assert.ok(!links.some((to) => /suspend|revoke/.test(to)), links.join(' '))
})

test('the page of a device offers what its status permits, and no other action', async (t) => {
  const { h, signedIn } = await setup(t)
  const { device } = await namesIn(h)
  const support = await signedIn('support')
  const offered = async () => {
    const { status, text } = await support.open(`/devices/${device}`)
    assert.equal(status, 200)
    return [...text.matchAll(/href="\/devices\/[^/"]+\/(\w+)"/g)].map(([, verb]) => verb)
  }
  assert.deepEqual(await offered(), ['block'])
  // A time after every assertion of the phone: one that it signed later has a wrong counter.
  const isSuspect = await h.service.store.write(({ devices }) =>
    devices.suspect(device, h.clock.now() + HOUR),
  )
  assert.equal(isSuspect, true)
  assert.deepEqual(await offered(), ['block', 'unblock'])
  await moveDevice(h.service, device, 'block')
  assert.deepEqual(await offered(), ['unblock'])
  await moveDevice(h.service, device, 'remove')
  assert.deepEqual(await offered(), [])
})

test('the history of a device has the reference of the operator’s action', async (t) => {
  const { h, signedIn } = await setup(t)
  const { device, subject } = await namesIn(h)
  const visitor = await signedIn('support')
  const address = `/devices/${device}/block`
  const token = tokenIn((await visitor.open(address)).text)
  assert.equal((await visitor.submit(address, { token, form: {} })).status, 303)
  const [entry] = await listAudit(h.service, {
    target: { subjectId: subject },
    query: { action: 'device block', limit: 1 },
  })
  const { events } = await inspectDevice(h.service, device)
  assert.equal(events.at(-1)?.requestId, entry?.requestId)
  for (const page of [`/devices/${device}`, `/changes?about=${device}`])
    assert.match((await visitor.open(page)).text, new RegExp(entry?.requestId ?? 'none'))
})
