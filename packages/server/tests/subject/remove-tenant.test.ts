import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '@bonded/contract'
import { removeTenant } from '../../../core/src/operations/admin/remove-tenant.ts'
import { suspendTenant } from '../../../core/src/operations/admin/suspend-tenant.ts'
import { setLogo } from '../../../core/src/operations/admin/tenant-logo.ts'
import { auditedService } from '../../../core/src/operations/audit/audit.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import { localBus } from '../../src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../src/adapters/keys/keyring.ts'
import { type Harness, harness, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'
import { png } from '../../../../tests/png.ts'
import { addEndpoints, addUser, ECHO, settle } from './erased-user.ts'
import { dump, sql } from './stored-bytes.ts'

/** The service with the role that owns the database. */
async function ownerOf(
  { databaseUrl, clock, service }: Harness,
  opened: AsyncDisposableStack,
): Promise<Service> {
  if (databaseUrl === undefined) return service
  const { idKeys } = keyringOf([ROOT_KEY])
  const open = await openPostgres(settingsOf(databaseUrl), { now: clock.now(), idKeys })
  return { ...service, store: opened.use(open({ bus: localBus(), meter: noMeter })) }
}

test('removes a suspended tenant by its typed name, with every row, and nothing of another', async () => {
  await using h = await harness({ webhooks: ECHO })
  await using opened = new AsyncDisposableStack()
  const owner = await ownerOf(h, opened)
  const { id } = h.shop.tenant
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  await addEndpoints(h, [other])
  await h.complete(await h.create(undefined, other), {}, other)
  await settle(h)
  const before = await dump(h)

  await addEndpoints(h, [h.shop])
  await setLogo(h.service, id, png())
  const user = await addUser(h, 'Klara Vogelsang', other)
  await settle(h)
  const service = auditedService(owner, {
    action: 'tenant remove',
    actor: { kind: 'operator', name: 'root' },
    requestId: makeId('req', Buffer.alloc(16, 7)),
    target: { tenantId: id },
  })
  const { name } = h.shop.tenant
  await assert.rejects(removeTenant(service, id, name), /not suspended/)
  await suspendTenant(service, id)
  await assert.rejects(removeTenant(service, id), /permanently deletes Shop.*--name/)
  await assert.rejects(removeTenant(service, id, 'Other'), /another name/)
  await assert.rejects(removeTenant(service, id, name), /bonded/)
  assert.equal((await h.complete(user.running[0] as never)).status, 200)
  await settle(h)
  await h.service.store.write(({ totals }) => totals.count(h.clock.now() + 1, 1_000))
  const tenantIn = async () =>
    [...(await dump(h))].filter(([, rows]) => rows.join().includes(id)).map(([table]) => table)
  const tables = await tablesWithTenant(h)
  const filled = await tenantIn()
  const empty = tables.filter((table) => !filled.includes(table))
  assert.deepEqual(empty, [], 'the test has no row of the tenant in these tables')

  await removeTenant(service, id, name)
  await settle(h)
  assert.deepEqual(await tenantIn(), ['audit_entry'])
  const after = await dump(h)
  for (const [table, rows] of before) {
    if (/^(?:receipt_log|node_)|^(?:webhook_endpoint|session_total_head)$/.test(table)) continue
    const left = new Set(after.get(table))
    const lost = rows.filter((each) => !each.includes(id) && !left.has(each))
    assert.deepEqual(lost.slice(0, 3), [], table)
  }
  for (const [table, key, column] of [
    ['session_event', 'session_key', 'session_key'],
    ['session_device', 'session_key', 'session_key'],
    ['idempotency', 'session_id', 'id'],
  ]) {
    const orphans = `select 1 from ${table} where ${key} not in (select ${column} from session)`
    assert.deepEqual(await sql(h, orphans), [], table)
  }
  assert.equal((await h.get({ id: user.completed.id }, h.shop)).status, 401)
  await assert.rejects(removeTenant(service, id, name), { code: 'not_found' })
})

/** A tenant that has rows in a table is found there by this column. */
async function tablesWithTenant(h: Harness): Promise<readonly string[]> {
  const found = await sql(
    h,
    h.databaseUrl === undefined
      ? `select t.name from sqlite_schema t join pragma_table_info(t.name) c
         on c.name = 'tenant_id' where t.type = 'table'`
      : `select table_name as name from information_schema.columns
         where column_name = 'tenant_id' and table_schema = current_schema()`,
  )
  return found.map(({ name }) => String(name))
}
