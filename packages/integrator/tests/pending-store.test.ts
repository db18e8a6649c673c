import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryPendingStore, Secret } from '../src/index.ts'
import { pendingStoreSuite } from './pending-store-suite.ts'
import { sqlitePendingStore } from './sqlite-pending-store.ts'

pendingStoreSuite('memory', memoryPendingStore)
pendingStoreSuite('sqlite', () => sqlitePendingStore())

test('the memory store deletes rows that no caller can use, so its size is bounded', async () => {
  const store = memoryPendingStore()
  const row = {
    session_id: 'sess_old',
    workflow: 'w',
    action: 'a',
    owner: 'o',
    completion_secret: new Secret('s'),
    context_digest: null,
    subject_ref: null,
    created_at: '2026-11-21T09:30:00.000Z',
    expires_at: '2026-11-21T09:35:00.000Z',
    used_at: null,
  }
  await store.put(row)
  await store.put({
    ...row,
    session_id: 'sess_soon',
    created_at: '2026-11-21T11:34:59.000Z',
    expires_at: '2026-11-21T11:40:00.000Z',
  })
  assert.ok(await store.find('sess_old'))
  await store.put({
    ...row,
    session_id: 'sess_later',
    created_at: '2026-11-21T11:36:00.000Z',
    expires_at: '2026-11-21T11:41:00.000Z',
  })
  assert.equal(await store.find('sess_old'), undefined)
  assert.ok(await store.find('sess_soon'))
})
