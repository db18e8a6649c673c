import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { killSessionAsOperator } from '../../../../core/src/operations/admin/kill-session.ts'
import { moveDevice } from '../../../../core/src/operations/admin/devices.ts'
import { rollKey } from '../../../../core/src/operations/admin/roll-key.ts'
import { createTenant } from '../../../../core/src/operations/admin/tenants.ts'
import { updateTenant } from '../../../../core/src/operations/admin/update-tenant.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const GRACE_MS = 60_000

test('a rolled key and its successor both work until the grace period is over, and from then on only the successor', async () => {
  const keys = await h.addKeys(h.shop.tenant, [
    { workflow: 'wire_transfer', actions: ['approve_wire'] },
  ])
  const rolled = await rollKey(h.service, { key: keys.server.slice(8, 18), graceMs: GRACE_MS })
  const successor = { ...keys, server: rolled.secret.reveal() }
  const session = await h.create({}, successor)
  assert.deepEqual(
    [session.workflow, session.action],
    ['wire_transfer', 'approve_wire'],
    'the successor has the scope of the old one',
  )
  h.clock.advance(GRACE_MS - 1)
  assert.equal((await h.get(session, keys)).status, 200)
  h.clock.advance(1)
  assert.deepEqual(
    [(await h.get(session, keys)).status, (await h.get(session, successor)).status],
    [401, 200],
  )
})

test('rolls a key only once during its grace period, and revokes it on request', async () => {
  const keys = await h.addKeys(h.shop.tenant, null)
  const key = keys.server.slice(8, 18)
  await rollKey(h.service, { key, graceMs: GRACE_MS })
  await assert.rejects(rollKey(h.service, { key, graceMs: 0 }), /already being rolled/)
  assert.ok(await h.service.store.write((tables) => tables.tenants.revoke(key, h.clock.now())))
  assert.equal((await h.get(await h.create(), keys)).status, 401)
  await assert.rejects(rollKey(h.service, { key, graceMs: 0 }), /already revoked/)
  await assert.rejects(rollKey(h.service, { key: 'unknown', graceMs: 0 }), /No such key/)
})

test('rejects a publishable key after its grace period, also in a create call', async () => {
  const keys = await h.addKeys(h.shop.tenant, null)
  await rollKey(h.service, { key: keys.publishable, graceMs: GRACE_MS })
  const create = () =>
    h.api('POST', '/sessions', {
      token: h.shop.server,
      body: { workflow: 'credit_application', publishableKey: keys.publishable },
    })
  assert.equal((await create()).status, 201)
  h.clock.advance(GRACE_MS)
  assert.equal((await create()).body.error.reason, 'key_of_another_tenant')
})

for (const state of ['pending', 'step_up_required', 'bonded'] as const) {
  test(`an operator ends a session that is ${state}, with one event`, async () => {
    const { session } = await h.reach(state)
    const before = (await h.get(session)).body.seq
    await killSessionAsOperator(h.service, session.id as SessionId)
    const { body } = await h.get(session)
    assert.deepEqual(
      [body.state, body.ended_reason, body.seq],
      ['killed', 'killed_by_operator', before + 1],
    )
    await killSessionAsOperator(h.service, session.id as SessionId)
    assert.equal((await h.get(session)).body.seq, before + 1)
  })
}

for (const state of ['completed', 'expired'] as const) {
  test(`an operator cannot end a session that is ${state}`, async () => {
    const { session } = await h.reach(state)
    await assert.rejects(
      killSessionAsOperator(h.service, session.id as SessionId),
      new RegExp(`is ${state}`),
    )
  })
}

test('notes a blocked device in the timelines of its own sessions only', async () => {
  const { session, phone } = await h.reach('bonded')
  const other = await h.reach('bonded')
  const { holds } = await moveDevice(h.service, phone.device_id as never, 'block')
  assert.deepEqual(
    holds.map(({ id }) => id),
    [session.id],
  )
  const kinds = async (id: string) => {
    const { body } = await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })
    return body.entries.map(({ reason }: { reason: string | null }) => reason)
  }
  assert.ok((await kinds(session.id)).includes('device_blocked'))
  assert.ok(!(await kinds(other.session.id)).includes('device_blocked'))
})

test('a tenant name that looks like another one is rejected, unless the operator allows it', async () => {
  const wanted = (name: string) => ({
    name,
    environment: 'sandbox' as const,
    origins: [],
    workflows: [{ name: 'wire_transfer', actions: ['approve_wire'] }],
    demo: false,
  })
  const { tenant } = await createTenant(h.service, wanted('Northern Bank'))
  for (const name of [
    'northern bank',
    'N\u043erthern Bank',
    'Northern  Bank'.replace('  ', '\u00a0'),
    'Northem Bank',
  ])
    await assert.rejects(createTenant(h.service, wanted(name)), { code: 'conflict' }, name)
  const second = await createTenant(h.service, wanted('Southern Bank'))
  const unchanged = { addOrigins: [], removeOrigins: [], addWorkflows: [], removeWorkflows: [] }
  const rename = (name: string, allowSimilarName = false) =>
    updateTenant(h.service, second.tenant.id, { ...unchanged, name, allowSimilarName })
  await assert.rejects(rename('Northern Bank.'), {
    code: 'conflict',
    message: new RegExp(tenant.id),
  })
  assert.equal((await rename('Southern Bank.')).tenant.name, 'Southern Bank.')
  assert.equal((await rename('Northern Bank', true)).tenant.name, 'Northern Bank')
  const third = { ...wanted('Northern bank'), allowSimilarName: true }
  assert.equal((await createTenant(h.service, third)).tenant.name, 'Northern bank')
})

test('a tenant name that hides, reorders or piles up characters is rejected', async () => {
  const named = (name: string) =>
    createTenant(h.service, {
      name,
      environment: 'sandbox',
      origins: ['https://named.example'],
      workflows: [{ name: 'wire_transfer', actions: ['approve_wire'] }],
      demo: false,
    })
  const tag = String.fromCodePoint(0xe0041)
  const wrong = ['', ' ', 'Pay\u200bPal', 'Bank\u202e', `Bank${tag}`, 'B\u0301\u0302\u0303', 'A\nB']
  for (const name of [...wrong, '\u3164', 'Bank\ufe0f', 'x'.repeat(65)])
    await assert.rejects(named(name), /name/, JSON.stringify(name))
  assert.equal((await named('Crédit Agricole 🏦')).tenant.name, 'Crédit Agricole 🏦')
})
