import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { runReducer } from '../src/reducer.ts'

type Event = readonly ['add', number] | readonly ['arm', number]
type Effect = readonly ['first', number] | readonly ['second', number]
type State = { sum: number; timers: { due: number } }

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const log: string[] = []
  const now = 0
  t.mock.method(performance, 'now', () => now)
  const dispatch = runReducer<State, Event, Effect>(
    ({ sum }, event) => {
      if (event[0] === 'arm') return { state: { sum, timers: { due: event[1] } }, effects: [] }
      const state = { sum: sum + (event[1] ?? 100), timers: { due: Infinity } }
      return event[0] === 'tick'
        ? { state, effects: [['second', state.sum]] }
        : {
            state,
            effects: [
              ['first', state.sum],
              ['second', state.sum],
            ],
          }
    },
    { sum: 0, timers: { due: Infinity } },
    {
      first(sum) {
        log.push(`first ${sum}`)
        if (sum === 1) dispatch('add', 1)
        if (sum === 7) throw new Error('failed')
      },
      second: (sum) => log.push(`second ${sum}`),
    },
    (cause) => log.push((cause as Error).message),
  )
  return { log, dispatch }
}

test('performs all effects of an event before the next event', (t) => {
  const { log, dispatch } = start(t)
  dispatch('add', 1)
  assert.deepEqual(log, ['first 1', 'second 1', 'first 2', 'second 2'])
})

test('ticks when a timer is due, rounded up to a whole millisecond, and not after it was cleared', (t) => {
  const { log, dispatch } = start(t)
  dispatch('arm', 10.4)
  t.mock.timers.tick(10)
  assert.deepEqual(log, [])
  t.mock.timers.tick(1)
  assert.deepEqual(log, ['second 100'])
  dispatch('arm', 50)
  dispatch('arm', Infinity)
  t.mock.timers.tick(1_000)
  assert.deepEqual(log, ['second 100'])
})

test('reports an effect that threw, and performs those after it', (t) => {
  const { log, dispatch } = start(t)
  dispatch('add', 7)
  dispatch('add', 1)
  assert.deepEqual(log, ['first 7', 'failed', 'second 7', 'first 8', 'second 8'])
})
