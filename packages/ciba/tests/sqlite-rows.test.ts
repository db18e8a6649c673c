import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SqliteRows } from '../src/sqlite-rows.ts'

function rowsOf() {
  const db = new DatabaseSync(':memory:')
  const rows = new SqliteRows(db, () => 1_000)
  return { db, adapter: (kind: string) => rows.adapter(kind) }
}

test('of two requests with one assertion, only the first is stored', async () => {
  const replays = rowsOf().adapter('ReplayDetection')
  await replays.upsert('assertion', {}, 60)
  await assert.rejects(replays.upsert('assertion', {}, 60), { error: 'invalid_request' })
  await replays.upsert('another', {}, 60)
})

test('of two tokens for one request, only the first is issued', async () => {
  const requests = rowsOf().adapter('BackchannelAuthenticationRequest')
  await requests.upsert('request', { clientId: 'agent' }, 60)
  await requests.consume('request')
  await assert.rejects(requests.consume('request'), { error: 'invalid_grant' })
  assert.equal((await requests.find('request'))?.['consumed'], 1_000)
})

test('a request that is stored again stays used', async () => {
  const requests = rowsOf().adapter('BackchannelAuthenticationRequest')
  await requests.upsert('request', { clientId: 'agent' }, 60)
  await requests.consume('request')
  await requests.upsert('request', { clientId: 'agent' }, 60)
  await assert.rejects(requests.consume('request'), { error: 'invalid_grant' })
})

test('the file has no id of a request', async () => {
  const { db, adapter } = rowsOf()
  await adapter('BackchannelAuthenticationRequest').upsert('secret-id', { jti: 'secret-id' }, 60)
  assert.doesNotMatch(JSON.stringify(db.prepare('select * from oidc').all()), /secret-id/)
})
