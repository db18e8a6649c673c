import {
  type ApprovalState,
  type ApprovalStore,
  type StoredApproval,
  UNFINISHED,
} from './approval-store.ts'

/** The states that are not {@link UNFINISHED}. */
const OTHERS = 'waiting withdrawn completed reported_late unreported failed'.split(' ')
const AT = Date.parse('2026-11-21T09:30:00.000Z')
let made = 0

function row(change: Partial<StoredApproval> = {}): StoredApproval {
  const id = `sess_${String(++made).padStart(22, '0')}`
  return {
    id,
    data: '{"text":"\\u00e9 é"}',
    state: 'waiting',
    changed_at: AT,
    expires_at: AT + 1,
    lookup: id,
    ...change,
  }
}

async function stored(store: ApprovalStore, state: ApprovalState = 'waiting') {
  const put = row({ state: 'waiting' })
  await store.put(put)
  if (state !== 'waiting') equal(await store.move(put.id, 'waiting', state, AT), true)
  return put
}

function storedInEach(store: ApprovalStore, states: readonly string[]) {
  return Promise.all(states.map((state) => stored(store, state as ApprovalState)))
}

const CHECKS: Readonly<Record<string, (store: ApprovalStore) => Promise<void>>> = {
  'finds a row as it was put': async (store) => {
    const put = await stored(store)
    equal(ordered(await store.find(put.id)), ordered(put))
    equal(await store.find('sess_unknown'), undefined)
  },

  'keeps the state of a row that is put again': async (store) => {
    const put = await stored(store, 'running')
    await store.put(put)
    equal((await store.find(put.id))?.state, 'running')
  },

  'moves a row from its state only, and stores the time': async (store) => {
    const put = await stored(store)
    equal(await store.move(put.id, 'running', 'done', AT), false)
    equal(await store.move('sess_unknown', 'waiting', 'running', AT), false)
    equal(await store.move(put.id, 'waiting', 'running', AT + 5), true)
    const moved = { ...put, state: 'running', changed_at: AT + 5 }
    equal(ordered(await store.find(put.id)), ordered(moved))
  },

  'returns true for exactly one of 50 concurrent moves': async (store) => {
    const { id } = await stored(store)
    const moves = Array.from({ length: 50 }, () => store.move(id, 'waiting', 'running', AT))
    equal((await Promise.all(moves)).filter(Boolean).length, 1)
  },

  'renews a row that still is in its state, and stores the time': async (store) => {
    const { id } = await stored(store, 'running')
    equal(await store.move(id, 'running', 'running', AT + 5), true)
    equal((await store.find(id))?.changed_at, AT + 5)
    equal(idsOf(await store.unfinished()), id)
    equal(await store.move(id, 'running', 'done', AT + 6), true)
    equal(await store.move(id, 'running', 'running', AT + 7), false)
    equal((await store.find(id))?.changed_at, AT + 6)
  },

  'moves a row from `failed` to `done`, and lists it then': async (store) => {
    const { id } = await stored(store, 'failed')
    equal(idsOf(await store.unfinished()), '')
    equal(await store.move(id, 'failed', 'done', AT), true)
    equal(idsOf(await store.unfinished()), id)
  },

  'finds the rows of a lookup, the last to expire first, until they are removed': async (store) => {
    const of = row({ expires_at: AT + 10 })
    const { lookup } = of
    const [first, second] = [row({ lookup }), row({ lookup, expires_at: AT + 5 })]
    for (const put of [first, of, second, row()]) await store.put(put)
    const found = await store.withLookup(lookup)
    equal(found.map(ordered).join(), [of, second, first].map(ordered).join())
    equal((await store.withLookup('unknown')).length, 0)
    equal(await store.move(of.id, 'waiting', 'unknown', AT), true)
    await store.removeExpired(AT + 20)
    equal((await store.withLookup(lookup)).map(({ state }) => state).join(), 'unknown')
    equal(await store.move(of.id, 'unknown', 'failed', AT), true)
    await store.removeExpired(AT + 20)
    equal((await store.withLookup(lookup)).length, 0)
  },

  'removes a row, which can then be put again, except one whose end is open': async (store) => {
    const { lookup, ...put } = await stored(store)
    const open = await storedInEach(store, UNFINISHED)
    const others = await storedInEach(store, OTHERS)
    for (const { id } of [put, ...open, ...others]) await store.remove(id)
    await store.remove('sess_unknown')
    equal((await store.withLookup(lookup)).length, 0)
    for (const { id } of [put, ...others]) equal(await store.find(id), undefined)
    equal(idsOf(await store.unfinished()), idsOf(open))
    await store.put({ ...put, lookup, data: '{}' })
    equal((await store.withLookup(lookup)).map(({ data }) => data).join(), '{}')
  },

  'lists the rows whose end is open': async (store) => {
    const open = await storedInEach(store, UNFINISHED)
    await storedInEach(store, OTHERS)
    const back = await stored(store, 'running')
    equal(await store.move(back.id, 'running', 'waiting', AT), true)
    equal(idsOf(await store.unfinished()), idsOf(open))
  },

  'removes expired rows, except those whose end is open': async (store) => {
    const old = await storedInEach(store, OTHERS)
    const fresh = row({ expires_at: AT + 5 })
    await store.put(fresh)
    const open = await storedInEach(store, UNFINISHED)
    equal(await store.removeExpired(AT + 5), old.length)
    for (const { id } of old) equal(await store.find(id), undefined)
    equal((await store.find(fresh.id))?.id, fresh.id)
    equal(idsOf(await store.unfinished()), idsOf(open))
  },
}

/** One promise of an approval store. `run` rejects if the store breaks it. */
export interface ApprovalStoreCheck {
  readonly name: string
  readonly run: () => Promise<void>
}

/**
 * What every approval store promises. Run it over your own store, with any test runner. `open`
 * returns a store of an empty table.
 *
 * @example
 * for (const { name, run } of approvalStoreSuite(() => myStore(database))) test(name, run)
 */
export function approvalStoreSuite(
  open: () => ApprovalStore | Promise<ApprovalStore>,
): readonly ApprovalStoreCheck[] {
  return Object.entries(CHECKS).map(([name, check]) => ({
    name,
    run: async () => check(await open()),
  }))
}

function idsOf(rows: readonly StoredApproval[]): string {
  return rows
    .map(({ id }) => id)
    .toSorted()
    .join(' ')
}

function ordered(found: object | undefined): string {
  return JSON.stringify(Object.entries(found ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function equal(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected))
    throw new Error(`expected ${String(expected)}, and the store gave ${String(actual)}`)
}
