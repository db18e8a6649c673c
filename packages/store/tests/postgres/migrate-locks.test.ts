import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { openConnection, runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { NOW } from '../tables/table-operations.ts'

test('calls go on while a migration waits for a table that another transaction uses', async () => {
  const own = await postgresDatabase()
  const open = async () => {
    const store = (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })
    await store[Symbol.asyncDispose]()
  }
  await open()
  // The state of a database before two steps that change several tables.
  await runSql(
    own.url,
    `drop table push_key, push_subscription;
     alter table pairwise_subject drop column inbox_woken_at;
     alter table pairwise_subject drop column inbox_paused_until, drop column inbox_reports;
     drop index session_by_inbox; alter table session drop column inbox_subject_id;
     delete from migration where number in (42, 44)`,
  )
  {
    await using call = await openConnection(own.url)
    await call.run('begin; select 1 from pairwise_subject')
    const migrated = open()
    let isMigrated = false
    void migrated.finally(() => (isMigrated = true))
    // The migration asks for its locks many times meanwhile, and holds none of the other table.
    for (let turn = 0; turn < 20; turn++) {
      await runSql(own.url, 'select 1 from session; select 1 from pairwise_subject')
      await call.run('select 1 from session')
    }
    assert.ok(!isMigrated)
    await call.run('commit')
    await migrated
  }
  await open()
  await own.drop()
})
