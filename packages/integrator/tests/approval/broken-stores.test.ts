import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryApprovalStore } from '../../src/approval/approval.ts'
import {
  type ApprovalState,
  type ApprovalStore,
  type StoredApproval,
  UNFINISHED,
} from '../../src/approval/approval-store.ts'
import { approvalStoreSuite } from '../../src/approval/approval-store-suite.ts'

/** Replaces calls of a store that keeps every promise, so that it breaks one. */
type Fault = (good: ApprovalStore, rows: ReadonlyMap<string, StoredApproval>) => Changed
type Changed = Partial<ApprovalStore>

const turn = () => new Promise(setImmediate)
/** The states that the type has beside those of `UNFINISHED`. */
const ENDED = [
  'waiting',
  'withdrawn',
  'completed',
  'reported_late',
  'unreported',
  'failed',
] as const satisfies readonly ApprovalState[]
const isOpen = ({ state }: StoredApproval) => UNFINISHED.includes(state)

/** A store that lists these rows as those whose end is open. */
function listing(isListed: (row: StoredApproval) => boolean): Fault {
  return (_, rows) => ({ unfinished: async () => [...rows.values()].filter(isListed) })
}

/** A store that makes this move and denies it. */
function denying(denied: ApprovalState, next: ApprovalState): Fault {
  return (good) => ({
    async move(id, from, to, at) {
      const isMoved = await good.move(id, from, to, at)
      return isMoved && !(from === denied && to === next)
    },
  })
}

/** For each promise of the suite, stores that break it, each in a way of its own. */
const BROKEN: Readonly<Record<string, Readonly<Record<string, Fault>>>> = {
  'finds a row as it was put': {
    'writes the data in another form': (good) => ({
      put: (row) => good.put({ ...row, data: JSON.stringify(JSON.parse(row.data)) }),
    }),
    'finds null for an unknown row': (good) => ({
      find: async (id) => (await good.find(id)) ?? (null as never),
    }),
  },
  'keeps the state of a row that is put again': {
    'overwrites a row that is put again': (good, rows) => ({
      async put(row) {
        const { state = row.state, changed_at = 0 } = rows.get(row.id) ?? {}
        await good.put(row)
        await good.move(row.id, state, row.state, changed_at)
      },
    }),
  },
  'moves a row from its state only, and stores the time': {
    'moves a row from any state': (good, rows) => ({
      move: (id, from, to, at) => good.move(id, rows.get(id)?.state ?? from, to, at),
    }),
    'moves an unknown row': (good, rows) => ({
      move: async (...given) => !rows.has(given[0]) || good.move(...given),
    }),
    'moves a row and denies it': (good) => ({
      move: async (...given) => (await good.move(...given)) && false,
    }),
    'forgets the time of a move': (good, rows) => ({
      move: (id, from, to) => good.move(id, from, to, rows.get(id)?.changed_at ?? 0),
    }),
  },
  'returns true for exactly one of 50 concurrent moves': {
    'reads, decides, and then writes': (good, rows) => ({
      async move(id, from, to, at) {
        const { state } = rows.get(id) ?? {}
        await turn()
        if (state !== from) return false
        await good.move(id, rows.get(id)?.state ?? from, to, at)
        return true
      },
    }),
  },
  'renews a row that still is in its state, and stores the time': {
    'does not count a renewal as a change': (good) => ({
      move: async (id, from, to, at) => (await good.move(id, from, to, at)) && from !== to,
    }),
    'forgets the time of a renewal': (good, rows) => ({
      move: async (id, from, to, at) =>
        from === to ? rows.get(id)?.state === from : good.move(id, from, to, at),
    }),
    'lists a renewed row no more': listing(
      (row) => isOpen(row) && row.changed_at <= row.expires_at,
    ),
    'moves a renewed row no more': (good, rows) => ({
      async move(id, from, to, at) {
        const { changed_at = 0, expires_at = 0 } = rows.get(id) ?? {}
        return (from === to || changed_at <= expires_at) && good.move(id, from, to, at)
      },
    }),
    'renews a row in any state': (good, rows) => ({
      move: async (id, from, to, at) =>
        (from === to && rows.has(id)) || good.move(id, from, to, at),
    }),
    'grants a renewal in another state, and does not store it': (good, rows) => ({
      move: async (id, from, to, at) =>
        (await good.move(id, from, to, at)) || (from === to && rows.has(id)),
    }),
    'denies the move of a renewed row': denying('running', 'done'),
    'stores the time of a renewal that it denies': (good, rows) => ({
      async move(id, from, to, at) {
        const state = rows.get(id)?.state
        if (from === to && state !== undefined) await good.move(id, state, state, at)
        return state === from && good.move(id, from, to, at)
      },
    }),
  },
  'moves a row from `failed` to `done`, and lists it then': {
    'lists a failed row': listing((row) => isOpen(row) || row.state === 'failed'),
    'moves no failed row': (good) => ({
      move: async (id, from, to, at) => from !== 'failed' && good.move(id, from, to, at),
    }),
    'denies the move of a failed row': denying('failed', 'done'),
    'lists no row that has failed once': (good) => {
      const failed = new Set<string>()
      return {
        async move(id, from, to, at) {
          if (to === 'failed') failed.add(id)
          return good.move(id, from, to, at)
        },
        unfinished: async () => (await good.unfinished()).filter(({ id }) => !failed.has(id)),
      }
    },
  },
  'finds the rows of a lookup, the last to expire first, until they are removed': {
    'finds them in the order in which they were put': (_, rows) => ({
      withLookup: async (lookup) => [...rows.values()].filter((row) => row.lookup === lookup),
    }),
    'finds only the last to expire': (good) => ({
      withLookup: async (lookup) => (await good.withLookup(lookup)).slice(0, 1),
    }),
    'finds every row for an unknown lookup': (good, rows) => ({
      async withLookup(lookup) {
        const found = await good.withLookup(lookup)
        return found.length > 0 ? found : [...rows.values()]
      },
    }),
    'finds the rows of a lookup with the state that they were put with': (good) => ({
      withLookup: async (lookup) =>
        (await good.withLookup(lookup)).map((row) => ({ ...row, state: 'waiting' })),
    }),
    'finds by a lookup what has expired and was removed': foundAfter('removeExpired'),
    'denies that an end is unknown': denying('waiting', 'unknown'),
    'denies that an unknown end has failed': denying('unknown', 'failed'),
    'never removes a row whose end was open once': (good) => {
      const open = new Map<string, StoredApproval>()
      return {
        async withLookup(lookup) {
          const found = await good.withLookup(lookup)
          for (const row of found.filter(isOpen)) open.set(row.id, row)
          const gone = [...open.values()].filter((row) => row.lookup === lookup)
          return found.length > 0 ? found : gone
        },
      }
    },
  },
  'removes a row, which can then be put again, except one whose end is open': {
    'removes no row': () => ({ async remove() {} }),
    ...Object.fromEntries(
      UNFINISHED.map((open): [string, Fault] => [
        `removes a row that is ${open}`,
        (good, rows) => ({
          async remove(id) {
            if (rows.get(id)?.state === open) await good.move(id, open, 'failed', 0)
            await good.remove(id)
          },
        }),
      ]),
    ),
    ...Object.fromEntries(
      ENDED.map((state): [string, Fault] => [
        `keeps a row that is ${state}`,
        (good, rows) => ({
          async remove(id) {
            if (rows.get(id)?.state !== state) await good.remove(id)
          },
        }),
      ]),
    ),
    'fails where there is no row to remove': (good, rows) => ({
      async remove(id) {
        if (!rows.has(id)) throw new Error('no such row')
        await good.remove(id)
      },
    }),
    'finds a removed row by its id': (good) => {
      const removed = new Map<string, StoredApproval>()
      return {
        async remove(id) {
          const row = await good.find(id)
          if (row !== undefined && !isOpen(row)) removed.set(id, row)
          await good.remove(id)
        },
        find: async (id) => (await good.find(id)) ?? removed.get(id),
      }
    },
    'finds a removed row by its lookup': foundAfter('remove'),
    'accepts no row with the id of a removed one': (good) => {
      const removed = new Set<string>()
      return {
        async remove(id) {
          removed.add(id)
          await good.remove(id)
        },
        put: async (row) => (removed.has(row.id) ? undefined : good.put(row)),
      }
    },
    'restores a removed row when it is put again': (good) => {
      const first = new Map<string, StoredApproval>()
      return {
        async put(row) {
          const put = first.get(row.id) ?? row
          first.set(row.id, put)
          await good.put(put)
        },
      }
    },
  },
  'lists the rows whose end is open': {
    ...Object.fromEntries(
      UNFINISHED.map((state) => [
        `lists no row that is ${state}`,
        listing((row) => isOpen(row) && row.state !== state),
      ]),
    ),
    ...Object.fromEntries(
      ENDED.map((state) => [
        `lists a row that is ${state}`,
        listing((row) => isOpen(row) || row.state === state),
      ]),
    ),
    'denies that a row waits again': denying('running', 'waiting'),
    'lists a row that waits again': (good) => {
      const started = new Map<string, StoredApproval>()
      return {
        async unfinished() {
          const found = await good.unfinished()
          return [...found, ...[...started.values()].filter(({ id }) => !has(found, id))]
        },
        async move(id, from, to, at) {
          const row = await good.find(id)
          if (row !== undefined && to === 'waiting') started.set(id, row)
          return good.move(id, from, to, at)
        },
      }
    },
  },
  'removes expired rows, except those whose end is open': {
    'does not count what it removes': (good) => ({
      async removeExpired(before) {
        await good.removeExpired(before)
        return 0
      },
    }),
    'removes no expired row, and counts it': (_, rows) => ({
      removeExpired: async (before) =>
        [...rows.values()].filter((row) => !isOpen(row) && row.expires_at < before).length,
    }),
    'removes a row that has not expired': (good) => ({
      async removeExpired(before) {
        const count = await good.removeExpired(before)
        await good.removeExpired(Number.MAX_SAFE_INTEGER)
        return count
      },
    }),
    'removes a row that expires at that time': (good) => ({
      removeExpired: async (before) => good.removeExpired(before + 1),
    }),
    ...Object.fromEntries(
      UNFINISHED.map((open): [string, Fault] => [
        `removes an expired row that is ${open}`,
        (good) => ({
          async removeExpired(before) {
            const count = await good.removeExpired(before)
            for (const { id, state } of await good.unfinished()) {
              if (state !== open) continue
              await good.move(id, state, 'failed', 0)
              await good.remove(id)
            }
            return count
          },
        }),
      ]),
    ),
    ...Object.fromEntries(
      ENDED.map((state): [string, Fault] => [
        `keeps an expired row that is ${state}, and counts it`,
        (good, rows) => ({
          async removeExpired(before) {
            const kept = [...rows.values()].filter(
              (row) => row.state === state && row.expires_at < before,
            )
            const count = await good.removeExpired(before)
            for (const row of kept) {
              await good.put({ ...row, state: 'waiting' })
              await good.move(row.id, 'waiting', state, row.changed_at)
            }
            return count
          },
        }),
      ]),
    ),
  },
}

/** A store whose search by lookup still finds what this call has removed. */
function foundAfter(call: 'remove' | 'removeExpired'): Fault {
  return (good, rows) => {
    const removed: StoredApproval[] = []
    const removing = async <T>(work: () => Promise<T>): Promise<T> => {
      const before = [...rows.values()]
      const result = await work()
      removed.push(...before.filter(({ id }) => !rows.has(id)))
      return result
    }
    return {
      withLookup: async (lookup) => [
        ...(await good.withLookup(lookup)),
        ...removed.filter((row) => row.lookup === lookup && !rows.has(row.id)),
      ],
      ...(call === 'remove'
        ? { remove: (id: string) => removing(() => good.remove(id)) }
        : { removeExpired: (before: number) => removing(() => good.removeExpired(before)) }),
    }
  }
}

function has(rows: readonly StoredApproval[], wanted: string): boolean {
  return rows.some(({ id }) => id === wanted)
}

/** The store of the memory, with its rows in view, and with the fault. */
function openBroken(fault: Fault): ApprovalStore {
  const good = memoryApprovalStore()
  const rows = new Map<string, StoredApproval>()
  const seen = async <T>(id: string, work: Promise<T>): Promise<T> => {
    const result = await work
    const row = await good.find(id)
    if (row === undefined) rows.delete(id)
    else rows.set(id, row)
    return result
  }
  const watched: ApprovalStore = {
    ...good,
    put: (row) => seen(row.id, good.put(row)),
    move: (id, from, to, at) => seen(id, good.move(id, from, to, at)),
    remove: (id) => seen(id, good.remove(id)),
    async removeExpired(before) {
      const count = await good.removeExpired(before)
      for (const id of rows.keys()) await seen(id, Promise.resolve())
      return count
    },
  }
  return { ...watched, ...fault(watched, rows) }
}

test('has broken stores for every promise of the suite', () => {
  const names = approvalStoreSuite(memoryApprovalStore).map(({ name }) => name)
  assert.deepEqual(Object.keys(BROKEN), names)
})

for (const [promise, faults] of Object.entries(BROKEN))
  for (const [name, fault] of Object.entries(faults))
    test(`the suite rejects a store that ${name}`, async () => {
      const check = approvalStoreSuite(() => openBroken(fault)).find((one) => one.name === promise)
      assert.ok(check)
      await assert.rejects(check.run, promise)
    })

test('the suite accepts the store without a fault', async () => {
  for (const { run } of approvalStoreSuite(() => openBroken(() => ({})))) await run()
})
