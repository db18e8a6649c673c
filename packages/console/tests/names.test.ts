import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { recordAction } from '@bonded/core/operations/audit/audit'
import { harness } from '../../../tests/harness/harness.ts'
import { namesIn } from './addresses.ts'
import { pageAt } from './page-at.ts'
import { setup } from './setup.ts'

test('a part of its name finds a tenant, and several or none are listed', async (t) => {
  const { h, signedIn } = await setup(t)
  const [north, south] = [
    await h.addTenant({ name: 'North' }),
    await h.addTenant({ name: 'South' }),
  ]
  await h.create(undefined, north)
  const ada = await signedIn()
  const health = await ada.open('/health?tenant=nOR')
  assert.match(health.text, new RegExp(`Only <a href="/tenants/${north.tenant.id}">`))
  // A tenant with a request beside it has none of its own.
  assert.match((await ada.open('/health?tenant=South')).text, /No request was created/)
  assert.match((await ada.open('/changes?about=north')).text, /Nothing was recorded/)
  for (const [path, found] of [
    ['/health?tenant=th', [north.tenant.id, south.tenant.id]],
    ['/changes?about=th', [north.tenant.id, south.tenant.id]],
    ['/health?tenant=west', []],
  ] as const) {
    const { text } = await ada.open(path)
    assert.match(text, /<h1>Tenants<\/h1>/, path)
    const listed = [...text.matchAll(/<code class="id">(ten_\w+)/g)].map(([, id]) => id)
    assert.deepEqual(new Set(listed), new Set(found), path)
  }
})

test('a user is found by a session, a device, the subject, or a subject_ref of any tenant', async (t) => {
  const { h, signedIn, entries } = await setup(t)
  const { subject, session, device, subject_ref } = await namesIn(h)
  const ada = await signedIn()
  for (const named of [subject, session, device, subject_ref]) {
    const { status, text } = await ada.open(`/user?subject=${named}`)
    assert.equal(status, 200, named)
    assert.ok(text.includes(`<code class="id">${subject}</code>`), named)
    assert.equal((await entries()).at(-1)?.action, 'subject show')
  }
  const { id } = await h.create()
  const unclaimed = await ada.open(`/user?subject=${id}`)
  assert.equal(unclaimed.status, 404)
  assert.match(unclaimed.text, /knows no user by this/)
  assert.equal((await ada.open('/user?subject=x')).status, 404)
})

test('the audit log names the user whose page was opened by a subject_ref alone', async () => {
  await using h = await harness()
  const { subject, subject_ref: subjectRef } = await namesIn(h)
  const actor = { kind: 'operator', name: 'ada' } as const
  for (const target of [{ subjectId: subject }, { subjectRef }])
    await recordAction(h.service, {
      action: 'subject show',
      actor,
      requestId: 'req_1' as never,
      target,
    })
  const [first, second] = (
    await h.service.store.read(({ audit }) => audit.list({ limit: 9 }))
  ).slice(-2)
  assert.ok(first?.person)
  assert.equal(second?.person, first.person)
})

test('pages show tenants by their names, also those that were removed, as ids', async () => {
  await using h = await harness()
  const { tenant, subject, device, session, endpoint } = await namesIn(h)
  const removed = `ten_${'1'.repeat(22)}` as TenantId
  for (const tenantId of [tenant, removed])
    await recordAction(h.service, {
      action: 'tenant suspend',
      actor: { kind: 'operator', name: 'ada' },
      requestId: 'req_1' as never,
      target: { tenantId },
    })
  for (const address of [
    `/user?subject=${subject}`,
    `/users/${subject}/resume-inbox/${tenant}`,
    `/devices/${device}`,
    `/sessions/${session}`,
    `/sessions/${session}/end`,
    `/tenants/${tenant}/endpoints/${endpoint}/recover/24h`,
    '/changes',
  ]) {
    const page = await pageAt(h, address)
    assert.match(page, new RegExp(`href="/tenants/${tenant}"><bdi>Shop</bdi>`), address)
    assert.doesNotMatch(page, new RegExp(`>${tenant}<`), address)
  }
  assert.match(await pageAt(h, '/changes'), new RegExp(`<bdi>${removed}</bdi>`))
})

test('a figure of zero has no chart and no column, and is named', async () => {
  await using h = await harness()
  await h.create()
  const page = await pageAt(h, '/health')
  const charts = [...page.matchAll(/<figcaption>(.*?) <b>/g)].map(([, title]) => title)
  assert.deepEqual(charts, ['Created'])
  assert.match(page, /None: To an inbox, Step-ups, .*, Rejections\./)
  const columns = [...page.slice(page.indexOf('class="dense"')).matchAll(/<th scope="col">(.*?)</g)]
  assert.deepEqual(
    columns.map(([, title]) => title),
    ['From', 'Created', 'Median'],
  )
})

test('the page of a session says what the backend said at completion', async () => {
  await using h = await harness()
  for (const [headers, text] of [
    [{ 'x-bond-outcome': 'accepted' }, 'accepted'],
    [{ 'x-bond-outcome': 'in_review' }, 'in_review'],
    [{}, 'none: the backend sent no X-Bond-Outcome'],
  ] as const) {
    const { session } = await h.reach('bonded')
    assert.doesNotMatch(await pageAt(h, `/sessions/${session.id}`), /Outcome/)
    await h.complete(session, headers)
    assert.match(await pageAt(h, `/sessions/${session.id}`), new RegExp(`Outcome</dt><dd>${text}`))
  }
})
