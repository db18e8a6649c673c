import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { applyTenant } from '../../../core/src/operations/admin/apply-tenant.ts'
import { resumeTenant, suspendTenant } from '../../../core/src/operations/admin/suspend-tenant.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../../tests/harness/postgres.ts'

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
