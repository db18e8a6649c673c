import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PendingRow, type PendingStore, Secret } from '../src/index.ts'

const CREATED_AT = '2026-11-21T09:30:00.000Z'
const USED_AT = '2026-11-21T09:31:00.000Z'
let made = 0

function row(change: Partial<PendingRow> = {}): PendingRow {
  return {
    session_id: `sess_${String(++made).padStart(22, '0')}`,
    workflow: 'credit_application',
    action: 'submit_application',
    owner: 'login-1',
    completion_secret: new Secret('bcs_kept'),
    context_digest: 'digest',
    subject_ref: null,
    created_at: CREATED_AT,
    expires_at: '2026-11-21T09:35:00.000Z',
    used_at: null,
    ...change,
  }
}

/**
 * What every pending store promises. Run it over your adapter:
 *
 * @example pendingStoreSuite('postgres', async () => postgresPendingStore(await freshDatabase()))
 */
export function pendingStoreSuite<Tx>(
  name: string,
  open: () => PendingStore<Tx> | Promise<PendingStore<Tx>>,
): void {
  const useOf = ({ session_id, owner }: PendingRow) => ({ session_id, owner, used_at: USED_AT })
  const useAlone = (store: PendingStore<Tx>, stored: PendingRow) =>
    store.transaction((tx) => store.use(useOf(stored), tx))

  test(`${name}: a row is found as it was put, its secret with it`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    const found = await store.find(stored.session_id)
    assert.ok(found)
    const { completion_secret, ...plain } = found
    const { completion_secret: _put, ...expected } = stored
    assert.deepEqual({ ...plain }, expected)
    assert.equal(completion_secret.reveal(), 'bcs_kept')
  })

  test(`${name}: an unknown session has no row and cannot be used`, async () => {
    const store = await open()
    assert.equal(await store.find('sess_unknown'), undefined)
    assert.equal(await useAlone(store, row()), false)
  })

  test(`${name}: uses a row once and stores the time`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    assert.equal(await useAlone(store, stored), true)
    assert.equal((await store.find(stored.session_id))?.used_at, USED_AT)
    assert.equal(await useAlone(store, stored), false)
  })

  test(`${name}: another owner cannot use a row`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    assert.equal(await useAlone(store, { ...stored, owner: 'login-2' }), false)
    assert.equal(await useAlone(store, stored), true)
  })

  test(`${name}: returns true for exactly one of 50 concurrent uses`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    const results = await Promise.all(Array.from({ length: 50 }, () => useAlone(store, stored)))
    assert.equal(results.filter(Boolean).length, 1)
  })

  test(`${name}: a transaction returns the result of its work`, async () => {
    const store = await open()
    assert.equal(await store.transaction(async () => 42), 42)
  })

  test(`${name}: a transaction that rejects leaves the row unused, and passes the error on`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    const failure = new Error('the action failed')
    const work = store.transaction(async (tx) => {
      assert.equal(await store.use(useOf(stored), tx), true)
      throw failure
    })
    await assert.rejects(work, failure)
    assert.equal((await store.find(stored.session_id))?.used_at, null)
    assert.equal(await useAlone(store, stored), true)
  })

  test(`${name}: putting a used row again does not make it unused`, async () => {
    const store = await open()
    const stored = row()
    await store.put(stored)
    await useAlone(store, stored)
    await store.put(stored)
    assert.equal(await useAlone(store, stored), false)
  })

  test(`${name}: rows that expired before a time are dropped, others stay`, async () => {
    const store = await open()
    const old = row({ expires_at: '2026-11-21T08:00:00.000Z' })
    const fresh = row()
    await store.put(old)
    await store.put(fresh)
    assert.equal(await store.removeExpired('2026-11-21T09:00:00.000Z'), 1)
    assert.equal(await store.find(old.session_id), undefined)
    assert.ok(await store.find(fresh.session_id))
  })
}
