import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'

const NOW = 1_000_000

test('writes the earlier rules for unattested keys into the workflows of production tenants', async () => {
  const own = await postgresDatabase()
  await (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })[Symbol.asyncDispose]()
  const named = (name: string, rest = {}) => ({ name, actions: ['act'], ...rest })
  const workflows = [
    named('unset'),
    named('attested', { webauthn: 'attested' }),
    named('known', { webauthn: 'known' }),
    named('any', { webauthn: 'any', passport: 'optional' }),
  ]
  const tenant = (id: string, environment: string, list: readonly object[]) =>
    `insert into tenant (id, name, environment, demo, origins, workflows, created_at)
     values ('${id}', 'T', '${environment}', 0, '[]', '${JSON.stringify(list)}', 0);`
  // The state of a database before the step.
  await runSql(
    own.url,
    `alter table device_continuity drop column completed_at;
     delete from migration where name like '%unattested keys%';
     ${tenant('ten_production', 'production', workflows)}
     ${tenant('ten_sandbox', 'sandbox', workflows)}
     ${tenant('ten_empty', 'production', [])}`,
  )
  const store = (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })
  const workflowsOf = async (id: string) =>
    (await store.read((tables) => tables.tenants.find(id as TenantId)))?.workflows
  assert.deepEqual(await workflowsOf('ten_production'), [
    named('unset', { webauthn: 'attested' }),
    named('attested', { webauthn: 'attested' }),
    named('known', { webauthn: 'known', unattested: 'named' }),
    named('any', { webauthn: 'any', passport: 'optional', unattested: 'named' }),
  ])
  assert.deepEqual(await workflowsOf('ten_sandbox'), workflows)
  assert.deepEqual(await workflowsOf('ten_empty'), [])
  await store[Symbol.asyncDispose]()
  await own.drop()
})
