import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  ATTEMPTS,
  INITIAL_LEG,
  type LegEvent,
  type LegEffect,
  reduceLeg,
} from '../src/leg/leg-reducer.ts'

/** Dispatches events, ten seconds apart, and returns the effects of the last one. */
function run(...events: readonly LegEvent[]) {
  let state = INITIAL_LEG
  let effects: readonly LegEffect[] = []
  for (const [index, event] of events.entries())
    ({ state, effects } = reduceLeg(state, event, { now: index * 10_000, random: 0.5 }))
  return { state, effects }
}

const READY: LegEvent[] = [['open'], ['opened', 'ready']]
const SENT: LegEvent[] = [...READY, ['confirm'], ['proved', 'proof']]
const LOST: LegEvent[] = [['sent', 'lost'], ['tick']]
const SHOW_AGAIN = [['show', 'again']]

test('asks the browser at a click only, and sends its proof', () => {
  assert.deepEqual(run(['open']).effects, [['read']])
  assert.deepEqual(run(...READY).effects, [['show', 'ready']])
  assert.deepEqual(run(...READY, ['confirm']).effects, [['show', 'ready'], ['prove']])
  assert.deepEqual(run(...SENT).effects, [
    ['show', 'busy'],
    ['send', 'proof'],
  ])
  assert.deepEqual(run(...SENT, ['sent', 'accepted']).effects, [])
})

test('ignores a second click while the prompt is open, and one before the request is read', () => {
  assert.deepEqual(run(...READY, ['confirm'], ['confirm']).effects, [])
  assert.deepEqual(run(['open'], ['confirm']).effects, [])
})

test('shows the button again after a canceled prompt and after a rejected proof', () => {
  assert.deepEqual(run(...READY, ['confirm'], ['refused', false]).effects, SHOW_AGAIN)
  assert.deepEqual(run(...SENT, ['sent', 'rejected']).effects, SHOW_AGAIN)
  const again = run(...READY, ['confirm'], ['refused', false], ['confirm'])
  assert.deepEqual(again.effects.at(-1), ['prove'])
})

test('gives up in a browser that cannot prove', () => {
  for (const events of [
    [['open'], ['opened', 'unsupported']],
    [...READY, ['confirm'], ['refused', true]],
  ] as LegEvent[][])
    assert.deepEqual(run(...events).effects, [['giveUp']])
})

test('sends the same proof again after a lost response, and then leaves it to the user', () => {
  assert.deepEqual(run(...SENT, ...LOST).effects, [['send', 'proof']])
  const lost = Array.from({ length: ATTEMPTS - 1 }, () => LOST).flat()
  assert.deepEqual(run(...SENT, ...lost, ['sent', 'lost']).effects, SHOW_AGAIN)
  assert.deepEqual(run(['open'], ['opened', 'lost'], ['tick']).effects, [['read']])
})

const events = fc.constantFrom<LegEvent>(
  ['open'],
  ['opened', 'ready'],
  ['opened', 'lost'],
  ['opened', 'unsupported'],
  ['confirm'],
  ['proved', 'proof'],
  ['refused', false],
  ['refused', true],
  ['sent', 'accepted'],
  ['sent', 'rejected'],
  ['sent', 'lost'],
  ['tick'],
  ['close'],
)

test('no sequence of events asks the browser without a click, or goes on after its end', () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 40 }), (steps) => {
      let state = INITIAL_LEG
      let clicks = 0
      let prompts = 0
      for (const [index, event] of steps.entries()) {
        const before = state
        const reaction = reduceLeg(state, event, { now: index * 3_000, random: 0.5 })
        state = reaction.state
        clicks += Number(event[0] === 'confirm')
        prompts += reaction.effects.filter(([name]) => name === 'prove').length
        assert.ok(prompts <= clicks)
        if (before.phase === 'closed') assert.deepEqual(reaction.effects, [])
        if (state.phase === 'closed') assert.equal(state.timers.again, Infinity)
      }
    }),
  )
})
