import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FullSession } from '@bonded/contract'
import { type ApprovalStore, memoryApprovalStore } from '../../src/approval/approval.ts'
import { approvalsOf, ARGS, REQUEST } from './harness.ts'

/** A process that asks, and is killed at this call of the store: it never returns. */
async function killedAsk(atPut: number, request: typeof REQUEST & { key?: string } = REQUEST) {
  const memory = memoryApprovalStore()
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>()
  let puts = 0
  const put: ApprovalStore['put'] = async (row) => {
    if (++puts < atPut) return memory.put(row)
    kill()
    return new Promise<void>(() => {})
  }
  const { clock, service } = approvalsOf({ store: memory })
  void approvalsOf({ store: { ...memory, put }, clock, service }).approvals.request(request)
  await killed
  // Another process, with the same store and service.
  return approvalsOf({ store: memory, clock, service })
}

for (const [atPut, asked] of [
  [1, 0],
  [2, 1],
] as const)
  test(`the retry of an ask that was killed after ${asked} creates leaves one request`, async () => {
    const { approvals, service } = await killedAsk(atPut)
    assert.equal(service.ids().length, asked)
    const { id } = await approvals.request(REQUEST)
    assert.deepEqual(service.ids(), [id])
    service.bond(id)
    const ref = { id, owner: REQUEST.owner, args: ARGS }
    assert.equal(await approvals.execute(ref, async () => 'sent'), 'sent')
  })

test('once the retry has found it, an equal request is another one', async () => {
  const { approvals, service } = await killedAsk(2)
  const first = await approvals.request(REQUEST)
  const second = await approvals.request(REQUEST)
  assert.deepEqual(service.ids(), [first.id, second.id])
})

test('equal requests that one process makes at the same time are different ones', async () => {
  const { approvals, service } = approvalsOf()
  const opened = await Promise.all([1, 2, 3].map(() => approvals.request(REQUEST)))
  assert.equal(new Set(opened.map(({ id }) => id)).size, 3)
  assert.equal(service.ids().length, 3)
})

test('a request with another key, owner or argument does not find one that was killed', async () => {
  for (const change of [
    { key: 'invoice-8' },
    { owner: 'login-2' },
    { args: { ...ARGS, cents: 1 } },
  ]) {
    const { approvals, service } = await killedAsk(2, { ...REQUEST, key: 'invoice-7' })
    await approvals.request({ ...REQUEST, key: 'invoice-7', ...change })
    assert.equal(service.ids().length, 2)
  }
})

for (const end of [
  { state: 'expired' },
  { state: 'killed', ended_reason: 'user_declined' },
] as readonly Partial<FullSession>[])
  test(`the retry of a killed ask whose session is ${end.state} asks again, once`, async () => {
    const { approvals, service } = await killedAsk(2)
    const [killed = ''] = service.ids()
    service.change(killed, end)
    const { id } = await approvals.request(REQUEST)
    assert.deepEqual(service.ids(), [killed, id])
    assert.equal(await approvals.status({ id, owner: REQUEST.owner }), 'waiting')
  })

test('a lost answer of the service leaves one request, too', async () => {
  const { approvals, service } = approvalsOf()
  service.fault('lost', 'lost', 'lost', 'lost')
  await assert.rejects(approvals.request(REQUEST), { code: 'service_unavailable' })
  const { id } = await approvals.request(REQUEST)
  assert.deepEqual(service.ids(), [id])
})

test('the retry does not find a request that was killed before an equal one ran', async () => {
  const { approvals, clock, service } = await killedAsk(1)
  clock.advance(1_000)
  const { id } = await approvals.request({ ...REQUEST, owner: 'login-2' })
  service.bond(id)
  await approvals.execute({ id, owner: 'login-2', args: ARGS }, async () => 'sent')
  const again = await approvals.request(REQUEST)
  assert.equal(service.session(again.id)?.context?.display[0]?.label, 'Repeated')
})

test('a request that cannot be stored leaves alone the one of another process that shares it', async () => {
  const { clock, service, store } = approvalsOf()
  const { promise: created, resolve: create } = Promise.withResolvers<void>()
  const { promise: shared, resolve: share } = Promise.withResolvers<void>()
  const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
  /** A process that stores what it begins, and then waits at the put of its session. */
  const waiting = (atSession: () => Promise<void>) => {
    const put: ApprovalStore['put'] = async (row) => {
      if (service.session(row.id)) await atSession()
      return store.put(row)
    }
    return approvalsOf({ clock, service, store: { ...store, put } }).approvals
  }
  const first = waiting(async () => {
    create()
    await shared
    throw new Error('the database is gone')
  })
  const other = waiting(async () => {
    share()
    await failed
  })
  const one = assert.rejects(first.request(REQUEST), /the database is gone/)
  await created
  const two = other.request(REQUEST)
  await one
  fail()
  const { id } = await two
  assert.deepEqual(service.ids(), [id])
  assert.equal(await other.status({ id, owner: REQUEST.owner }), 'waiting')
})
