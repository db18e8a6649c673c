import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'

const NOW = 1_000_000

test('takes a reference that two subjects have from both of them, and no other', async () => {
  const own = await postgresDatabase()
  await (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })[Symbol.asyncDispose]()
  // The state of a database before the step.
  await runSql(
    own.url,
    `drop index pairwise_subject_by_ref;
     alter table pairwise_subject drop column blocked_at;
     delete from migration where name = 'subjects by their reference';
     insert into pairwise_subject (tenant_id, subject_id, subject_ref) values
       ('ten_a', 'sub_a', 'shared'), ('ten_a', 'sub_b', 'shared'), ('ten_a', 'sub_c', 'own'),
       ('ten_b', 'sub_a', 'shared')`,
  )
  const store = (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })
  const find = async (tenantId: string, ref: string) =>
    (await store.read((tables) => tables.subjects.find(tenantId as TenantId, ref)))?.subjectId
  assert.deepEqual(
    [await find('ten_a', 'shared'), await find('ten_a', 'own'), await find('ten_b', 'shared')],
    [undefined, 'sub_c', 'sub_a'],
  )
  const again = `insert into pairwise_subject (tenant_id, subject_id, subject_ref)
    values ('ten_a', 'sub_d', 'own')`
  await assert.rejects(runSql(own.url, again), /unique/)
  await store[Symbol.asyncDispose]()
  await own.drop()
})
