import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import { applyTenant } from '../../../../core/src/operations/admin/apply-tenant.ts'
import { updateTenant } from '../../../../core/src/operations/admin/update-tenant.ts'
import {
  resumeTenant,
  suspendTenant,
} from '../../../../core/src/operations/admin/suspend-tenant.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { runSql } from '../../../../store/tests/servers/postgres.ts'

const h = await harness({ onPostgres: true })
after(() => h[Symbol.asyncDispose]())
const { service } = h
const { tenant } = h.shop
const OLDER = { code: 'conflict', message: /older version serves/ }
/** Sends a message as a node of a version before the levels of nodes does. */
const sendAsOlder = () =>
  runSql(
    h.databaseUrl ?? '',
    `insert into node_message (node, number, text) values ('older', 1, 'x')`,
  )

test('a tenant is suspended once no node of an older version has served for 10 seconds', async () => {
  await service.peers.exchange?.()
  assert.equal((await suspendTenant(service, tenant.id)).changed, true)
  await sendAsOlder()
  assert.equal((await resumeTenant(service, tenant.id)).changed, true)
  await assert.rejects(suspendTenant(service, tenant.id), OLDER)
  const wanted = { ...tenant, suspended: true, allowSimilarName: false }
  await assert.rejects(applyTenant(service, wanted), OLDER)
  assert.equal(
    (await service.store.read((tables) => tables.tenants.find(tenant.id)))?.suspendedAt,
    undefined,
  )
  await runSql(
    h.databaseUrl ?? '',
    `update node_message set sent_at = sent_at - interval '11 seconds' where node = 'older'`,
  )
  assert.equal((await suspendTenant(service, tenant.id)).changed, true)
})

test('a session with a text is created once no node of an older version serves', async () => {
  const body = {
    workflow: 'credit_application',
    context: { display: [{ label: 'Amount', value: '12' }], text: '{}' },
  }
  const create = () => h.api('POST', '/sessions', { token: h.shop.server, body })
  await resumeTenant(service, tenant.id)
  await runSql(
    h.databaseUrl ?? '',
    `insert into node_message (node, number, text, level) values ('older', 2, 'x', 1)`,
  )
  const refused = await create()
  assert.deepEqual([refused.status, refused.body.error.reason], [503, 'upgrade_in_progress'])
  await runSql(
    h.databaseUrl ?? '',
    `update node_message set sent_at = sent_at - interval '11 seconds' where node = 'older'`,
  )
  assert.equal((await create()).status, 201)
})

test('an inbox is configured and used once no node of an older version serves, which would not read it', async () => {
  const session = await h.create()
  const user = await h.register()
  await h.claim(user, session)
  await h.attest(user, await h.view(user, session))
  const { subject_ref } = (await h.get(session)).body
  h.clock.advance(1)
  const create = () =>
    h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'agent', subject_ref } })
  const configure = () => {
    const workflow: Workflow = { name: 'other', actions: ['act'], delivery: 'inbox' }
    const change = { addOrigins: [], removeOrigins: [], removeWorkflows: [] }
    return updateTenant(service, tenant.id, { ...change, addWorkflows: [workflow] })
  }
  await runSql(
    h.databaseUrl ?? '',
    `insert into node_message (node, number, text, level) values ('older', 3, 'x', 2)`,
  )
  await assert.rejects(configure(), OLDER)
  const refused = await create()
  assert.deepEqual([refused.status, refused.body.error.reason], [503, 'upgrade_in_progress'])
  await runSql(
    h.databaseUrl ?? '',
    `update node_message set sent_at = sent_at - interval '11 seconds' where node = 'older'`,
  )
  await configure()
  const created = await create()
  assert.equal(created.status, 201)
  // An older node knows no workflow of these names, so it creates no session of them.
  const [tenantRow] = await runSql(
    h.databaseUrl ?? '',
    `select workflows from tenant where id = '${tenant.id}'`,
  )
  const names = (JSON.parse(String(tenantRow?.workflows)) as Workflow[]).map(({ name }) => name)
  assert.deepEqual(
    names.filter((name) => name.endsWith('agent') || name.endsWith('other')),
    ['inbox:agent', 'inbox:other'],
  )
  // An older node has no root key of this id, and reads such a session as not found.
  const [stored] = await runSql(
    h.databaseUrl ?? '',
    `select root_key_id from session where id = '${created.body.id}'`,
  )
  assert.equal(stored?.root_key_id, 'inbox:k1')
  assert.equal(service.keys.holds('inbox:k1'), false)
  assert.equal((await h.get(created.body)).status, 200)
})
