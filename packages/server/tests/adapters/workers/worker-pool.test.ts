import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WorkerPool } from '../../../src/adapters/workers/worker-pool.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

const DEADLINE_MS = 1_000

function pool({ size = 1, maxWaiting = 2 } = {}) {
  const clock = new TestClock()
  const script = new URL('./answering-worker.ts', import.meta.url)
  const workers = new WorkerPool<string>({
    script,
    size,
    maxWaiting,
    deadlineMs: DEADLINE_MS,
    clock,
  })
  after(() => workers[Symbol.asyncDispose]())
  return { clock, workers, answer: (text: string) => workers.run({ do: 'answer', text }) }
}

test('runs tasks in order while all workers are busy', async () => {
  const { answer } = pool({ maxWaiting: 8 })
  const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map(answer))
  assert.deepEqual(
    outcomes,
    ['a', 'b', 'c', 'd'].map((text) => ({ outcome: 'answered', answer: text })),
  )
})

test('rejects a task at once when the queue is full, and still runs the queued tasks', async () => {
  const { answer } = pool()
  const outcomes = [answer('working'), answer('waiting'), answer('waiting too')]
  assert.deepEqual(await answer('beyond the queue'), { outcome: 'full' })
  assert.deepEqual(
    (await Promise.all(outcomes)).map(({ outcome }) => outcome),
    ['answered', 'answered', 'answered'],
  )
  assert.equal((await answer('later')).outcome, 'answered')
})

test('terminates a worker that hangs at its deadline and runs the next task on a new one', async () => {
  const { clock, workers, answer } = pool()
  const hanging = workers.run({ do: 'hang' })
  const waiting = answer('next')
  clock.advance(DEADLINE_MS - 1)
  clock.advance(1)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
  assert.deepEqual(await waiting, { outcome: 'answered', answer: 'next' })
})

test('runs tasks on the other workers while one hangs', async () => {
  const { clock, workers, answer } = pool({ size: 2 })
  const hanging = workers.run({ do: 'hang' })
  for (const text of ['a', 'b', 'c'])
    assert.deepEqual(await answer(text), { outcome: 'answered', answer: text })
  clock.advance(DEADLINE_MS)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
})

test('answers failed for a worker that throws, exits or exceeds its memory, then starts a new one', {
  timeout: 60_000,
}, async () => {
  const { workers, answer } = pool()
  for (const action of ['throw', 'exit', 'grow']) {
    assert.deepEqual(await workers.run({ do: action }), { outcome: 'failed' }, action)
    assert.deepEqual(await answer('next'), { outcome: 'answered', answer: 'next' }, action)
  }
})

test('answers failed to pending and later tasks once the pool is closed', async () => {
  const { workers, answer } = pool()
  const outcomes = [workers.run({ do: 'hang' }), answer('waiting')]
  await workers[Symbol.asyncDispose]()
  outcomes.push(answer('late'))
  assert.deepEqual(
    (await Promise.all(outcomes)).map(({ outcome }) => outcome),
    ['failed', 'failed', 'failed'],
  )
})
