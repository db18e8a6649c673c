import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WorkerPool } from '../../../src/adapters/workers/worker-pool.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

const DEADLINE_MS = 1_000
/** The time in which a worker must have loaded. */
const LOAD_MS = 60_000

function pool({ size = 1, maxWaiting = 2 } = {}) {
  const clock = new TestClock()
  const script = new URL('./responding-worker.ts', import.meta.url)
  const workers = new WorkerPool<string>({
    script,
    size,
    maxWaiting,
    deadlineMs: DEADLINE_MS,
    clock,
  })
  after(() => workers[Symbol.asyncDispose]())
  return { clock, workers, respond: (text: string) => workers.run({ do: 'respond', text }) }
}

test('runs tasks in order while all workers are busy', async () => {
  const { respond } = pool({ maxWaiting: 8 })
  const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map(respond))
  assert.deepEqual(
    outcomes,
    ['a', 'b', 'c', 'd'].map((text) => ({ outcome: 'responded', response: text })),
  )
})

test('rejects a task at once when the queue is full, and still runs the queued tasks', async () => {
  const { respond } = pool()
  const outcomes = [respond('working'), respond('waiting'), respond('waiting too')]
  assert.deepEqual(await respond('beyond the queue'), { outcome: 'full' })
  assert.deepEqual(
    (await Promise.all(outcomes)).map(({ outcome }) => outcome),
    ['responded', 'responded', 'responded'],
  )
  assert.equal((await respond('later')).outcome, 'responded')
})

test('terminates a worker that hangs at its deadline and runs the next task on a new one', async () => {
  const { clock, workers, respond } = pool()
  await respond('loaded')
  const hanging = workers.run({ do: 'hang' })
  const waiting = respond('next')
  clock.advance(DEADLINE_MS - 1)
  clock.advance(1)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
  assert.deepEqual(await waiting, { outcome: 'responded', response: 'next' })
})

test('does not count the time in which a worker loads, which has a limit of its own', async () => {
  const { clock, respond } = pool()
  // The new thread cannot have reported before this one waits.
  const slow = respond('loaded slowly')
  clock.advance(LOAD_MS - 1)
  assert.deepEqual(await slow, { outcome: 'responded', response: 'loaded slowly' })

  const other = pool()
  const late = other.respond('never loaded')
  other.clock.advance(LOAD_MS)
  assert.deepEqual(await late, { outcome: 'timed_out' })
  assert.equal((await other.respond('next')).outcome, 'responded')
})

test('runs tasks on the other workers while one hangs', async () => {
  const { clock, workers, respond } = pool({ size: 2 })
  const hanging = workers.run({ do: 'hang' })
  for (const text of ['a', 'b', 'c'])
    assert.deepEqual(await respond(text), { outcome: 'responded', response: text })
  clock.advance(LOAD_MS)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
})

test('returns failed for a worker that throws, exits or exceeds its memory, then starts a new one', {
  timeout: 60_000,
}, async () => {
  const { workers, respond } = pool()
  for (const action of ['throw', 'exit', 'grow']) {
    assert.deepEqual(await workers.run({ do: action }), { outcome: 'failed' }, action)
    assert.deepEqual(await respond('next'), { outcome: 'responded', response: 'next' }, action)
  }
})

test('returns failed for pending and later tasks once the pool is closed', async () => {
  const { workers, respond } = pool()
  const outcomes = [workers.run({ do: 'hang' }), respond('waiting')]
  await workers[Symbol.asyncDispose]()
  outcomes.push(respond('late'))
  assert.deepEqual(
    (await Promise.all(outcomes)).map(({ outcome }) => outcome),
    ['failed', 'failed', 'failed'],
  )
})
