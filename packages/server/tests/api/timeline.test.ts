import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TimelineEntry } from '@bonded/contract'
import { issueKey } from '../../../core/src/operations/admin/keys.ts'
import { killSessionAsOperator } from '../../../core/src/operations/admin/kill-session.ts'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** A server credential with a name, by which the operator recognizes it. */
async function keyNamed(name: string) {
  const tenantId = h.shop.tenant.id
  const { key, secret } = await issueKey(h.service, { tenantId, kind: 'server', scope: null, name })
  return { id: key, keys: { ...h.shop, server: secret.reveal() } }
}

async function timelineOf({ id }: { id: string }): Promise<TimelineEntry[]> {
  return (await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })).body.entries
}

const keysOf = (entries: readonly TimelineEntry[]) =>
  entries.map(({ kind, key_id, key_name }) => [kind, key_id, key_name])

test('names the server credential of each backend call, and none for calls of a phone', async () => {
  const [forms, payments] = [await keyNamed('forms'), await keyNamed('payments')]
  const session = await h.create(undefined, forms.keys)
  const phone = await h.register()
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session))
  assert.equal(
    (await h.complete(session, { 'x-bond-outcome': 'accepted' }, payments.keys)).status,
    200,
  )
  assert.deepEqual(keysOf(await timelineOf(session)), [
    ['created', forms.id, 'forms'],
    ['scanned', null, null],
    ['evaluating', null, null],
    ['bonded', null, null],
    ['completed', payments.id, 'payments'],
  ])
})

test('names the publishable key of a page that cancels', async () => {
  const tenantId = h.shop.tenant.id
  const { key } = await issueKey(h.service, {
    tenantId,
    kind: 'publishable',
    scope: null,
    name: 'web shop',
  })
  const session = await h.create()
  const canceled = await h.api('POST', `/sessions/${session.id}/cancel`, {
    token: key,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  assert.equal(canceled.status, 200, canceled.text)
  assert.deepEqual(keysOf(await timelineOf(session)).at(-1), ['killed', key, 'web shop'])
})

test('names a key without a name by its id, and none for the operator or an expiry', async () => {
  const unnamed = h.shop.server.slice('sk_beta_'.length).slice(0, 10)
  const [killed, expired] = [await h.create(), await h.create()]
  await killSessionAsOperator(h.service, killed.id as never)
  h.clock.advance(300_000)
  await expireSessions(h.service)
  for (const [session, end] of [
    [killed, 'killed'],
    [expired, 'expired'],
  ] as const)
    assert.deepEqual(keysOf(await timelineOf(session)), [
      ['created', unnamed, null],
      [end, null, null],
    ])
})
