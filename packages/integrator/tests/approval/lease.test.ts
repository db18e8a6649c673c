import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NotStarted } from '../../src/approval/approval.ts'
import { approvalsOf, ARGS, counted } from './harness.ts'

const MINUTE_MS = 60_000
/** A process is taken for dead after a minute without a renewal. */
const LEASE_MS = MINUTE_MS

test('an action that runs for minutes is in no list, and no other process ends it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { approvals, approved, clock, service, store } = approvalsOf()
  const ref = await approved()
  const { promise: sent, resolve: send } = Promise.withResolvers<string>()
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const executed = approvals.execute({ ...ref, args: ARGS }, () => (begin(), sent))
  await began
  const { approvals: other } = approvalsOf({ store, clock, service })
  const asked: string[] = []
  for (let passedMs = 0; passedMs < 4 * MINUTE_MS; passedMs += LEASE_MS / 4) {
    clock.advance(LEASE_MS / 4)
    t.mock.timers.tick(LEASE_MS / 4)
    const list = await other.reconcile(async ({ id }) => (asked.push(id), 'failed'))
    assert.deepEqual(list, [])
  }
  send('sent')
  assert.equal(await executed, 'sent')
  assert.deepEqual(asked, [])
  clock.advance(LEASE_MS)
  t.mock.timers.tick(LEASE_MS)
  assert.equal((await store.find(ref.id))?.state, 'completed')
  assert.equal(service.session(ref.id)?.state, 'completed')
})

test('an outcome that the look-up cannot know stays in the list', async () => {
  const { approvals, approved, store } = approvalsOf()
  const ref = await approved()
  await store.move(ref.id, 'waiting', 'running', 0)
  for (const answer of ['unknown', undefined] as const)
    assert.equal((await approvals.reconcile(async () => answer))[0]?.id, ref.id)
})

for (const wrong of ['failed', 'done'] as const)
  test(`an action that happened after it was reconciled as ${wrong} is done`, async () => {
    const { approvals, approved, clock, service, store } = approvalsOf()
    const ref = await approved()
    const executed = approvals.execute({ ...ref, args: ARGS }, async () => {
      clock.advance(LEASE_MS)
      await approvals.reconcile(async () => wrong)
      return 'sent'
    })
    assert.equal(await executed, 'sent')
    assert.equal((await store.find(ref.id))?.state, 'completed')
    assert.equal(service.session(ref.id)?.state, 'completed')
  })

for (const [end, state] of [
  ['execute', 'reported_late'],
  ['reconcile', 'reported_late'],
  ['execute', 'unreported'],
  ['reconcile', 'unreported'],
] as const)
  test(`an action that ends after its session is stored as ${state} by ${end}`, async () => {
    const { approvals, approved, clock, service, store } = approvalsOf()
    const ref = await approved()
    const outlast = () => {
      clock.advance(60 * MINUTE_MS)
      if (state === 'unreported') service.forget(ref.id)
    }
    if (end === 'execute') await approvals.execute({ ...ref, args: ARGS }, async () => outlast())
    else {
      await store.move(ref.id, 'waiting', 'running', clock.now())
      outlast()
      assert.deepEqual(await approvals.reconcile(async () => 'done'), [])
    }
    assert.equal((await store.find(ref.id))?.state, state)
    // What the service has stored of the session: the bond, and the report about it.
    const { state: stored, outcome } = service.session(ref.id) ?? {}
    const isKept = state === 'reported_late'
    assert.deepEqual([stored, outcome], isKept ? ['bonded', 'accepted'] : [undefined, undefined])
    assert.equal(await approvals.status(ref), 'executed')
    assert.deepEqual(await approvals.reconcile(), [])
  })

test('an action that was not started after a look-up has voided it is failed', async () => {
  const { approvals, approved, clock, store } = approvalsOf()
  const ref = await approved()
  const { promise: voided, resolve: makeVoid } = Promise.withResolvers<void>()
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const executed = approvals.execute({ ...ref, args: ARGS }, async () => {
    begin()
    await voided
    throw new NotStarted('the ledger refuses a void id')
  })
  await began
  clock.advance(LEASE_MS)
  const decide = async () => {
    makeVoid()
    await assert.rejects(executed, NotStarted)
    return 'failed' as const
  }
  assert.deepEqual(await approvals.reconcile(decide), [])
  assert.equal((await store.find(ref.id))?.state, 'failed')
  assert.equal(await approvals.status(ref), 'ended')
  const { runs, run } = counted()
  const again = approvals.execute({ ...ref, args: ARGS }, run)
  await assert.rejects(again, { code: 'already_executed' })
  assert.equal(runs.length, 0)
})
