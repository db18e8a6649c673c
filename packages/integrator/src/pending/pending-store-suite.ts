import { Secret } from '@bonded/contract'
import type { PendingRow, PendingStore } from './pending-store.ts'

const CREATED_AT = '2026-11-21T09:30:00.000Z'
const USED_AT = '2026-11-21T09:31:00.000Z'
/** Longer than any database needs for five statements. */
const MAX_WAIT_MS = 20_000
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

const useOf = ({ session_id, owner }: PendingRow) => ({ session_id, owner, used_at: USED_AT })
const useAlone = <Tx>(store: PendingStore<Tx>, stored: PendingRow) =>
  store.transaction((tx) => store.use(useOf(stored), tx))

const CHECKS: Readonly<Record<string, <Tx>(store: PendingStore<Tx>) => Promise<void>>> = {
  'a row is found as it was put, its secret with it': async (store) => {
    const stored = row()
    await store.put(stored)
    const found = await store.find(stored.session_id)
    if (found === undefined) throw new Error('the row was not found')
    const { completion_secret, ...plain } = found
    const { completion_secret: _put, ...expected } = stored
    equal(JSON.stringify(inOrder(plain)), JSON.stringify(inOrder(expected)))
    equal(completion_secret.reveal(), 'bcs_kept')
  },

  'an unknown session has no row and cannot be used': async (store) => {
    equal(await store.find('sess_unknown'), undefined)
    equal(await useAlone(store, row()), false)
  },

  'uses a row once and stores the time': async (store) => {
    const stored = row()
    await store.put(stored)
    equal(await useAlone(store, stored), true)
    equal((await store.find(stored.session_id))?.used_at, USED_AT)
    equal(await useAlone(store, stored), false)
  },

  'another owner cannot use a row': async (store) => {
    const stored = row()
    await store.put(stored)
    equal(await useAlone(store, { ...stored, owner: 'login-2' }), false)
    equal(await useAlone(store, stored), true)
  },

  'returns true for exactly one of 50 concurrent uses': async (store) => {
    const stored = row()
    await store.put(stored)
    const results = await Promise.all(Array.from({ length: 50 }, () => useAlone(store, stored)))
    equal(results.filter(Boolean).length, 1)
  },

  'a transaction returns the result of its work': async (store) => {
    equal(await store.transaction(async () => 42), 42)
  },

  'an action that waits delays no other row': async (store) => {
    const [slow, put] = [row(), row()]
    await store.put(slow)
    let end = () => {}
    const waits = new Promise<void>((resolve) => (end = resolve))
    const action = store.transaction(async (tx) => {
      equal(await store.use(useOf(slow), tx), true)
      await waits
    })
    const others = async () => {
      await store.put(put)
      equal((await store.find(put.session_id))?.session_id, put.session_id)
      equal(await useAlone(store, put), true)
      equal(await store.removeExpired('2026-11-21T09:00:00.000Z'), 0)
    }
    try {
      await withinTime(others())
    } finally {
      end()
    }
    await action
    equal((await store.find(slow.session_id))?.used_at, USED_AT)
  },

  'a transaction that rejects leaves the row unused, and passes the error on': async (store) => {
    const stored = row()
    await store.put(stored)
    const failure = new Error('the action failed')
    const work = store.transaction(async (tx) => {
      equal(await store.use(useOf(stored), tx), true)
      throw failure
    })
    equal(await work.catch((error: unknown) => error), failure)
    equal((await store.find(stored.session_id))?.used_at, null)
    equal(await useAlone(store, stored), true)
  },

  'a transaction that resolves has used the row, after a statement that failed too': async (
    store,
  ) => {
    const stored = row()
    await store.put(stored)
    const work = store.transaction(async (tx) => {
      equal(await store.use(useOf(stored), tx), true)
      // An action that swallows an error of its database. Where this one fails, PostgreSQL rolls
      // the transaction back and answers `commit` without an error.
      const impossible = { ...useOf(row()), owner: 'login\0', used_at: 'no time' }
      await store.use(impossible, tx).catch(() => {})
      return true
    })
    const resolved = await work.catch(() => false)
    equal((await store.find(stored.session_id))?.used_at, resolved ? USED_AT : null)
  },

  'putting a used row again does not make it unused': async (store) => {
    const stored = row()
    await store.put(stored)
    await useAlone(store, stored)
    await store.put(stored)
    equal(await useAlone(store, stored), false)
  },

  'rows that expired before a time are dropped, others stay': async (store) => {
    const old = row({ expires_at: '2026-11-21T08:00:00.000Z' })
    const fresh = row()
    await store.put(old)
    await store.put(fresh)
    equal(await store.removeExpired('2026-11-21T09:00:00.000Z'), 1)
    equal(await store.find(old.session_id), undefined)
    equal((await store.find(fresh.session_id))?.session_id, fresh.session_id)
  },
}

/** One promise of a pending store. `run` rejects if the store breaks it. */
export interface PendingStoreCheck {
  readonly name: string
  readonly run: () => Promise<void>
}

/**
 * What every pending store promises. Run it over your own store, with any test runner. `open`
 * returns a store of an empty table.
 *
 * @example
 * for (const { name, run } of pendingStoreSuite(() => myStore(database))) test(name, run)
 */
export function pendingStoreSuite<Tx>(
  open: () => PendingStore<Tx> | Promise<PendingStore<Tx>>,
): readonly PendingStoreCheck[] {
  return Object.entries(CHECKS).map(([name, check]) => ({
    name,
    run: async () => check(await open()),
  }))
}

/** Rejects instead of waiting forever for a store that has one transaction at a time. */
async function withinTime(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const failure = new Error('other rows wait for the end of an action')
    timer = setTimeout(() => reject(failure), MAX_WAIT_MS)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function equal(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected))
    throw new Error(`expected ${String(expected)}, and the store gave ${String(actual)}`)
}

function inOrder(members: object): readonly (readonly [string, unknown])[] {
  return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1))
}
