import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EarlierRequest } from '../../src/approval/approval.ts'
import { approvalsOf, ARGS, counted, REQUEST } from './harness.ts'

const SECOND_MS = 1_000
const KEYED = { ...REQUEST, key: 'invoice-7' }

/** The parts of two processes, after an equal request has run, which the phone mentions. */
async function repeated(agoMs: number) {
  const parts = approvalsOf()
  const { approvals, approved, clock, service, store } = parts
  const ref = await approved()
  await approvals.execute({ ...ref, args: ARGS }, async () => 'sent')
  clock.advance(agoMs)
  /** The approvals that the user was asked for since then, after all of them were approved. */
  const run = async () => {
    const { runs, run } = counted()
    const asked = service.ids().filter((id) => id !== ref.id)
    for (const id of asked) {
      service.bond(id)
      const execution = approvals.execute({ id, owner: REQUEST.owner, args: ARGS }, run)
      await execution.catch(() => {})
    }
    return { asked, runs: runs.length }
  }
  return { clock, service, store, run }
}

test('a key that is repeated while its create is slow is one approval', async () => {
  const { clock, service, store, run } = await repeated(58 * SECOND_MS)
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let creates = 0
  const fetch: typeof service.fetch = async (url, init) => {
    if (init.method === 'POST' && ++creates === 1) {
      reach()
      await released
    }
    return service.fetch(url, init)
  }
  const { approvals } = approvalsOf({ clock, store, service: { ...service, fetch } })
  const slow = approvals.request(KEYED)
  await reached
  // The earlier request is now a minute old, and the words about it are other ones.
  clock.advance(5 * SECOND_MS)
  const { id } = await approvals.request(KEYED)
  release()
  assert.equal((await slow).id, id)
  assert.deepEqual(await run(), { asked: [id], runs: 1 })
})

for (const [what, describeRepeat] of [
  ['the words of the library', undefined],
  [
    'words with milliseconds',
    ({ agoMs }: EarlierRequest) => ({ label: 'Repeated', value: `${agoMs} ms ago` }),
  ],
] as const)
  test(`a key of two processes whose clocks differ is one approval, with ${what}`, async () => {
    const { clock, service, store, run } = await repeated(59 * SECOND_MS)
    const late = { ...clock, now: () => clock.now() + 2 * SECOND_MS }
    const words = describeRepeat && { describeRepeat }
    const processes = [clock, late].map((its) =>
      approvalsOf({ clock: its, service, store, ...words }),
    )
    const opened = await Promise.all(processes.map(({ approvals }) => approvals.request(KEYED)))
    const [{ id } = { id: '' }] = opened
    assert.deepEqual(await run(), { asked: [id], runs: 1 })
  })

test('a key whose answer was lost is one approval, whatever an earlier action does then', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  let lost: Promise<unknown> = Promise.resolve()
  await approvals.execute({ ...ref, args: ARGS }, async () => {
    service.fault('lost', 'lost', 'lost', 'lost')
    lost = assert.rejects(approvals.request(KEYED), { code: 'service_unavailable' })
    await lost
  })
  const { id } = await approvals.request(KEYED)
  assert.deepEqual(service.ids(), [ref.id, id])
  // It is what the phone shows already.
  assert.match(service.session(id)?.context?.display[0]?.value ?? '', /may have been carried out/)
  service.bond(id)
  const ofKey = { id, owner: REQUEST.owner, args: ARGS }
  assert.equal(await approvals.execute(ofKey, async () => 'sent'), 'sent')
})

test('requests that failed, each with its key, are not read by an equal one', async () => {
  const { approvals, clock, service, store } = approvalsOf()
  for (let count = 0; count < 5; count++) {
    service.fault('refused', 'refused', 'refused', 'refused')
    const failed = approvals.request({ ...REQUEST, key: `invoice-${count}` })
    await assert.rejects(failed, { code: 'service_unavailable' })
  }
  const read: number[] = []
  const withLookup: typeof store.withLookup = async (lookup) => {
    const rows = await store.withLookup(lookup)
    read.push(rows.length)
    return rows
  }
  const counting = approvalsOf({ clock, service, store: { ...store, withLookup } })
  await counting.approvals.request(REQUEST)
  assert.deepEqual(read, [0])
})

for (const [reason, status] of [
  ['subject_has_no_phone', 400],
  ['inbox_full', 429],
] as const)
  test(`a key that was rejected as ${reason} says later what ran since then`, async () => {
    const { approvals, approved, clock, service, store } = approvalsOf()
    const body = JSON.stringify({ error: { code: 'invalid_request', reason } })
    service.fault(...Array.from({ length: status === 429 ? 4 : 1 }, () => ({ status, body })))
    await assert.rejects(approvals.request(KEYED), { reason })
    assert.equal(await store.removeExpired(Infinity), 0)
    clock.advance(SECOND_MS)
    const ref = await approved({ ...REQUEST, owner: 'login-2' })
    await approvals.execute({ ...ref, args: ARGS }, async () => 'sent')
    const { id } = await approvals.request(KEYED)
    assert.match(service.session(id)?.context?.display[0]?.value ?? '', /was carried out/)
  })

test('words that no phone may show are not kept for the next request', async () => {
  const describeRepeat = ({ agoMs }: EarlierRequest) => ({
    label: 'Repeated',
    value: agoMs === SECOND_MS ? 'x'.repeat(1_000) : 'x',
  })
  const { approvals, approved, clock, service } = approvalsOf({ describeRepeat })
  const ref = await approved()
  await approvals.execute({ ...ref, args: ARGS }, async () => 'sent')
  clock.advance(SECOND_MS)
  await assert.rejects(approvals.request(KEYED), { code: 'invalid_request' })
  clock.advance(SECOND_MS)
  const { id } = await approvals.request(KEYED)
  assert.equal(service.session(id)?.context?.display[0]?.value, 'x')
})
