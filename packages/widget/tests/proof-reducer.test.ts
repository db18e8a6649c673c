import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  ATTEMPTS,
  FRAME_LOAD_MS,
  INITIAL_PROOF,
  type ProofEvent,
  type ProofEffect,
  reduceProof,
} from '../src/browser-proof/proof-reducer.ts'

/** Dispatches events, ten seconds apart, and returns the effects of the last one. */
function run(...events: readonly ProofEvent[]) {
  let state = INITIAL_PROOF
  let effects: readonly ProofEffect[] = []
  for (const [index, event] of events.entries())
    ({ state, effects } = reduceProof(state, event, { now: index * 10_000, random: 0.5 }))
  return { state, effects }
}

const READY: ProofEvent[] = [['open'], ['opened', 'ready']]
const SENT: ProofEvent[] = [...READY, ['confirm'], ['proved', 'proof']]
const LOST: ProofEvent[] = [['sent', 'lost'], ['tick']]
const SHOW_AGAIN = [['show', 'again']]
const FRAMED: ProofEvent[] = [['open'], ['opened', 'framed']]
const reads = (way: string) => [
  ['show', 'busy'],
  ['read', way],
]

test('asks the browser at a click only, and sends its proof', () => {
  assert.deepEqual(run(['open']).effects, reads('page'))
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
  assert.deepEqual(run(...READY, ['confirm'], ['proved', '']).effects, [['show', 'rejected']])
  assert.deepEqual(run(...SENT, ['sent', 'rejected']).effects, [['show', 'rejected']])
  const again = run(...READY, ['confirm'], ['refused', false], ['confirm'])
  assert.deepEqual(again.effects.at(-1), ['prove'])
})

test('gives up in a browser that cannot prove', () => {
  const events: ProofEvent[] = [['open'], ['opened', 'unsupported']]
  assert.deepEqual(run(...events).effects, [['giveUp', 'browser_unsupported']])
})

test('leaves it to the frame where the browser does not let the page ask', () => {
  assert.deepEqual(run(...READY, ['confirm'], ['refused', true]).effects, reads('frame'))
})

test('gives the frame its session once, when it listens', () => {
  assert.deepEqual(run(...FRAMED).effects, [['show', 'frame']])
  const started = run(...FRAMED, ['frame', 'loaded'], ['frame', 'ready'])
  assert.deepEqual(started.effects, [['start']])
  assert.equal(started.state.timers.again, Infinity)
  assert.deepEqual(run(...FRAMED, ['frame', 'ready'], ['frame', 'ready']).effects, [])
})

test('reads the session when the frame has ended, and gives up if it still waits', () => {
  const ready: ProofEvent[] = [...FRAMED, ['frame', 'ready']]
  assert.deepEqual(run(...ready, ['frame', 'done']).effects, reads('page'))
  assert.deepEqual(run(...ready, ['frame', 'failed']).effects, reads('none'))
  assert.deepEqual(run(...ready, ['frame', 'done'], ['frame', 'done']).effects, [])
  assert.deepEqual(run(...FRAMED, ['frame', 'done']).effects, [])
})

test('takes a second frame that says nothing, and one without permission, as blocked', () => {
  const blocked = [['giveUp', 'browser_frame_blocked']]
  const first = run(...FRAMED, ['tick'])
  assert.deepEqual(first.effects, reads('page'))
  assert.deepEqual(run(...FRAMED, ['tick'], ['opened', 'framed'], ['tick']).effects, blocked)
  assert.deepEqual(run(...FRAMED, ['frame', 'blocked']).effects, blocked)
  assert.deepEqual(run(['open'], ['opened', 'blocked']).effects, blocked)
  // A frame that has spoken is not counted with an earlier one.
  const spoken: ProofEvent[] = [
    ['tick'],
    ['opened', 'framed'],
    ['frame', 'ready'],
    ['frame', 'done'],
  ]
  const events: ProofEvent[] = [...FRAMED, ...spoken, ['opened', 'framed'], ['tick']]
  assert.deepEqual(run(...events).effects, reads('page'))
})

test('waits less for a frame whose document has loaded', () => {
  const { state } = run(...FRAMED)
  assert.equal(state.timers.again, 10_000 + FRAME_LOAD_MS)
  const moment = { now: 10_000, random: 0 }
  const loaded = reduceProof(state, ['frame', 'loaded'], moment)
  assert.ok(loaded.state.timers.again < state.timers.again)
})

test('sends the same proof again after a lost response, and then leaves it to the user', () => {
  assert.deepEqual(run(...SENT, ...LOST).effects, [['send', 'proof']])
  const lost = Array.from({ length: ATTEMPTS - 1 }, () => LOST).flat()
  assert.deepEqual(run(...SENT, ...lost, ['sent', 'lost']).effects, SHOW_AGAIN)
  assert.deepEqual(run(['open'], ['opened', 'lost'], ['tick']).effects, reads('page'))
})

const events = fc.constantFrom<ProofEvent>(
  ['open'],
  ['opened', 'ready'],
  ['opened', 'lost'],
  ['opened', 'unsupported'],
  ['opened', 'framed'],
  ['opened', 'blocked'],
  ['frame', 'loaded'],
  ['frame', 'ready'],
  ['frame', 'blocked'],
  ['frame', 'done'],
  ['frame', 'failed'],
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
      let state = INITIAL_PROOF
      let clicks = 0
      let prompts = 0
      for (const [index, event] of steps.entries()) {
        const before = state
        const reaction = reduceProof(state, event, { now: index * 3_000, random: 0.5 })
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
