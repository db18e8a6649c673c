import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WorkerPool } from '../../../src/adapters/workers/worker-pool.ts'
import { TestClock } from '../../harness/test-clock.ts'

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
  return { clock, workers, answer: (text: string) => workers.ask({ do: 'answer', text }) }
}

test('questions are answered in order, also while all workers are busy', async () => {
  const { answer } = pool({ maxWaiting: 8 })
  const asked = await Promise.all(['a', 'b', 'c', 'd'].map(answer))
  assert.deepEqual(
    asked,
    ['a', 'b', 'c', 'd'].map((text) => ({ outcome: 'answered', answer: text })),
  )
})

test('when the queue is full, a further question is refused at once; those that wait are answered', async () => {
  const { answer } = pool()
  const asked = [answer('working'), answer('waiting'), answer('waiting too')]
  assert.deepEqual(await answer('too much'), { outcome: 'full' })
  assert.deepEqual(
    (await Promise.all(asked)).map(({ outcome }) => outcome),
    ['answered', 'answered', 'answered'],
  )
  assert.equal((await answer('later')).outcome, 'answered')
})

test('a worker that hangs is ended at its deadline, and the next question gets a new one', async () => {
  const { clock, workers, answer } = pool()
  const hanging = workers.ask({ do: 'hang' })
  const waiting = answer('next')
  clock.advance(DEADLINE_MS - 1)
  clock.advance(1)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
  assert.deepEqual(await waiting, { outcome: 'answered', answer: 'next' })
})

test('a worker that hangs holds up no other one', async () => {
  const { clock, workers, answer } = pool({ size: 2 })
  const hanging = workers.ask({ do: 'hang' })
  for (const text of ['a', 'b', 'c'])
    assert.deepEqual(await answer(text), { outcome: 'answered', answer: text })
  clock.advance(DEADLINE_MS)
  assert.deepEqual(await hanging, { outcome: 'timed_out' })
})

test('a worker that throws, leaves or takes too much memory answers failed, and the next question gets a new one', {
  timeout: 60_000,
}, async () => {
  const { workers, answer } = pool()
  for (const what of ['throw', 'exit', 'grow']) {
    assert.deepEqual(await workers.ask({ do: what }), { outcome: 'failed' }, what)
    assert.deepEqual(await answer('next'), { outcome: 'answered', answer: 'next' }, what)
  }
})

test('a pool that is closed answers failed to those that wait, and to whoever comes later', async () => {
  const { workers, answer } = pool()
  const asked = [workers.ask({ do: 'hang' }), answer('waiting')]
  await workers[Symbol.asyncDispose]()
  asked.push(answer('late'))
  assert.deepEqual(
    (await Promise.all(asked)).map(({ outcome }) => outcome),
    ['failed', 'failed', 'failed'],
  )
})
