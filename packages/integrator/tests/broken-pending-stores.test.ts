import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { memoryPendingStore, type PendingRow, type PendingStore, Secret } from '../src/index.ts'
import { pendingStoreSuite } from '../src/pending/pending-store-suite.ts'

/** A store whose transaction no fault looks into. */
type Store = ReturnType<typeof memoryPendingStore>
type Transaction = Parameters<Store['use']>[1]
/** Replaces calls of a store that keeps every promise, so that it breaks one. */
type Fault = (good: Store) => Partial<Store>

const turn = () => new Promise(setImmediate)
/** A transaction that keeps what it has done when it rolls back. */
const LASTING: Transaction = { onRollback() {} }

/** A store that changes the rows that it finds. */
function finding(change: (row: PendingRow) => PendingRow): Fault {
  return (good) => ({
    async find(id) {
      const row = await good.find(id)
      return row && change(row)
    },
  })
}

/** A store that denies its first use, which it stores. */
const denyingFirst: Fault = (good) => {
  let used = 0
  return { use: async (use, tx) => (await good.use(use, tx)) && used++ > 0 }
}

/** A store in which this call fails while another transaction runs. */
function failingDuring(call: 'find' | 'put' | 'use'): Fault {
  return (good) => {
    let running = 0
    // The call's own transaction runs too.
    const others = () => running - (call === 'use' ? 1 : 0)
    return {
      transaction: (work) => {
        running++
        return good.transaction(work).finally(() => running--)
      },
      ...(call === 'find' && {
        find: async (id: string) => (others() > 0 ? undefined : good.find(id)),
      }),
      ...(call === 'put' && {
        put: async (row: PendingRow) => (others() > 0 ? undefined : good.put(row)),
      }),
      ...(call === 'use' && {
        use: async (...given: Parameters<Store['use']>) =>
          others() <= 0 && (await good.use(...given)),
      }),
    }
  }
}

/** For each promise of the suite, stores that break it, each in a way of its own. */
const BROKEN: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  'a row is found as it was put, its secret with it': {
    'finds no row': () => ({ find: async () => undefined }),
    'changes the time of expiry': finding((row) => ({ ...row, expires_at: row.created_at })),
    'hides the secret': finding((row) => ({ ...row, completion_secret: new Secret('[secret]') })),
  },
  'an unknown session has no row and cannot be used': {
    'finds null for an unknown session': (good) => ({
      find: async (id) => (await good.find(id)) ?? (null as never),
    }),
    'uses an unknown session': (good) => ({
      use: async (use, tx) => (await good.find(use.session_id)) === undefined || good.use(use, tx),
    }),
  },
  'uses a row once and stores the time': {
    'denies a use': (good) => ({ use: async (use, tx) => (await good.use(use, tx)) && false }),
    'stores another time of a use': (good) => ({
      use: (use, tx) => good.use({ ...use, used_at: '2026-11-21T09:30:00.000Z' }, tx),
    }),
    'uses a row twice': (good) => ({
      async use(use, tx) {
        const row = await good.find(use.session_id)
        return (await good.use(use, tx)) || row?.owner === use.owner
      },
    }),
  },
  'another owner cannot use a row': {
    'does not compare the owner': (good) => ({
      async use(use, tx) {
        const { owner = use.owner } = (await good.find(use.session_id)) ?? {}
        return good.use({ ...use, owner }, tx)
      },
    }),
    'grants a use to another owner, and does not store it': (good) => ({
      use: async (use, tx) =>
        (await good.use(use, tx)) || (await good.find(use.session_id))?.owner !== use.owner,
    }),
    'lets another owner use up a row': (good) => ({
      async use(use, tx) {
        const { owner = use.owner } = (await good.find(use.session_id)) ?? {}
        return (await good.use({ ...use, owner }, tx)) && owner === use.owner
      },
    }),
  },
  'returns true for exactly one of 50 concurrent uses': {
    'reads, decides, and then writes': (good) => ({
      async use(use, tx) {
        const row = await good.find(use.session_id)
        await turn()
        await good.use(use, tx)
        return row?.owner === use.owner && row.used_at === null
      },
    }),
  },
  'a transaction returns the result of its work': {
    'returns nothing': (good) => ({
      transaction: async (work) => void (await good.transaction(work)) as never,
    }),
  },
  'an action that waits delays no other row': {
    'has one transaction at a time': (good) => {
      let last: Promise<unknown> = Promise.resolve()
      return {
        transaction(work) {
          const result = last.then(() => good.transaction(work))
          last = result.catch(() => {})
          return result
        },
      }
    },
    'denies the use of an action that waits': denyingFirst,
    'puts no row during a transaction': failingDuring('put'),
    'finds no row during a transaction': failingDuring('find'),
    'uses no row during another transaction': failingDuring('use'),
    'forgets a use when another transaction commits': (good) => {
      const undos: (() => void)[] = []
      let running = 0
      return {
        async transaction(work) {
          running++
          const result = await good.transaction((tx) =>
            work({
              onRollback(undo) {
                undos.push(undo)
                tx.onRollback(undo)
              },
            }),
          )
          if (--running > 0) for (const undo of undos) undo()
          return result
        },
      }
    },
    'counts rows that have not expired': (good) => ({
      removeExpired: async (before) => (await good.removeExpired(before)) + 1,
    }),
  },
  'a transaction that rejects leaves the row unused, and passes the error on': {
    'keeps the use of a transaction that rejects': (good) => ({
      use: (use) => good.use(use, LASTING),
    }),
    'denies a use that it rolls back': denyingFirst,
    'shows a use that was rolled back': (good) => {
      const used = new Map<string, string>()
      return {
        async find(id) {
          const row = await good.find(id)
          return row && { ...row, used_at: used.get(id) ?? null }
        },
        async use(use, tx) {
          const isUsed = await good.use(use, tx)
          if (isUsed) used.set(use.session_id, use.used_at)
          return isUsed
        },
      }
    },
    'replaces the error': (good) => ({
      transaction: (work) =>
        good.transaction(work).catch((cause: unknown) => {
          throw new Error('rolled back', { cause })
        }),
    }),
    'swallows the error': (good) => ({
      transaction: (work) => good.transaction(work).catch(() => undefined as never),
    }),
    'uses no row again after a rollback': (good) => {
      const tried = new Set<string>()
      return {
        async use(use, tx) {
          const isFirst = !tried.has(use.session_id)
          tried.add(use.session_id)
          return isFirst && good.use(use, tx)
        },
      }
    },
  },
  'a transaction that resolves has used the row, after a statement that failed too': {
    'resolves after a rollback that no statement reported': (good) => ({
      async transaction(work) {
        const undos: (() => void)[] = []
        const result = await work({ onRollback: (undo) => void undos.push(undo) })
        // As PostgreSQL answers a commit after a failed statement.
        if (isFailed) for (const undo of undos) undo()
        isFailed = false
        return result
      },
      async use(use, tx) {
        isFailed ||= use.owner.includes('\0')
        return good.use(use, tx)
      },
    }),
    'rejects a transaction that it has committed': (good) => ({
      transaction: (work) =>
        good.transaction(work).then(() => {
          throw new Error('the connection was lost')
        }),
    }),
  },
  'putting a used row again does not make it unused': {
    'overwrites a row that is put again': (good) => {
      const undos = new Map<string, () => void>()
      return {
        async put(row) {
          undos.get(row.session_id)?.()
          await good.put(row)
        },
        use: (use, tx) =>
          good.use(use, {
            onRollback(undo) {
              undos.set(use.session_id, undo)
              tx.onRollback(undo)
            },
          }),
      }
    },
  },
  'rows that expired before a time are dropped, others stay': {
    'does not count what it removes': (good) => ({
      async removeExpired(before) {
        await good.removeExpired(before)
        return 0
      },
    }),
    'removes no expired row, and counts one': () => ({ removeExpired: async () => 1 }),
    'removes a row that has not expired': (good) => ({
      async removeExpired(before) {
        const count = await good.removeExpired(before)
        await good.removeExpired('2099-01-01T00:00:00.000Z')
        return count
      },
    }),
  },
}

/** Whether a statement of the open transaction has failed. */
let isFailed = false

function openBroken(fault: Fault): PendingStore<Transaction> {
  const good = memoryPendingStore()
  return { ...good, ...fault(good) }
}

/** Runs a promise of the suite without its wait for a store that is too slow. */
async function run(t: TestContext, check: () => Promise<void>): Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const result = check()
  result.catch(() => {})
  for (let turns = 0; turns < 5; turns++) await turn()
  t.mock.timers.tick(60_000)
  await result
}

test('has broken stores for every promise of the suite', () => {
  const names = pendingStoreSuite(memoryPendingStore).map(({ name }) => name)
  assert.deepEqual(Object.keys(BROKEN), names)
})

for (const [promise, faults] of Object.entries(BROKEN))
  for (const [name, fault] of Object.entries(faults))
    test(`the suite rejects a store that ${name}`, async (t) => {
      const check = pendingStoreSuite(() => openBroken(fault)).find((one) => one.name === promise)
      assert.ok(check)
      await assert.rejects(run(t, check.run), promise)
    })
