import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { screenOf } from '../src/screen.ts'
import type { SessionResponse } from '../src/session/get-session.ts'
import { readSnapshot, type Snapshot, unseen } from '../src/session/snapshot.ts'
import { reduceWatch } from '../src/session/watch-reducer.ts'
import {
  initialWatch,
  type ReadPurpose,
  type WatchEffect,
  type WatchEvent,
  type WatchState,
} from '../src/session/watch-state.ts'

const snapshotAt = (now: number, members: object = {}): Snapshot =>
  readSnapshot({ seq: 1, state: 'pending', expires_in_ms: 300_000, ...members }, now)!
const responseOf = (snapshot: Snapshot): SessionResponse => ({
  kind: 'snapshot',
  snapshot,
  view: Object.create(null),
})

/** A watch whose clock the test moves. */
class Run {
  now = 1_000
  state: WatchState = initialWatch(unseen(this.now), false)
  effects: WatchEffect[] = []

  /** Dispatches events, and returns the names of the effects of the last one. */
  on(...events: readonly WatchEvent[]): string[] {
    for (const event of events) {
      const reaction = reduceWatch(this.state, event, { now: this.now, random: 0.5 })
      this.state = reaction.state
      this.effects = [...reaction.effects]
    }
    return this.effects.map(([name]) => name)
  }

  /** Moves the clock to the next timer, and returns the names of the effects. */
  tick(): string[] {
    this.now = Math.max(this.now, Math.min(...Object.values(this.state.timers)))
    return this.on(['tick'])
  }

  later(ms: number): this {
    this.now += ms
    return this
  }

  /** Of the session that the last event read. */
  get purpose(): ReadPurpose {
    return this.effects.flatMap((effect) => (effect[0] === 'read' ? [effect[1]] : []))[0]!
  }

  get isOver(): boolean {
    return this.state.phase === 'ended'
  }

  get hello(): WatchEvent {
    return ['frame', snapshotAt(this.now)]
  }
}

const listening = () => {
  const run = new Run()
  run.on(['start'], ['opened'], run.hello)
  return run
}
/** A watch whose network blocks WebSockets. */
const polling = () => {
  const run = new Run()
  run.on(['start'], ['closed', 1006, 0], ['responded', 'poll', responseOf(snapshotAt(run.now))])
  run.tick()
  run.on(['closed', 1006, 0])
  return run
}

test('opens a channel at the start, and sends GET if it has not responded after 500 ms', () => {
  const run = new Run()
  assert.deepEqual(run.on(['start']), ['open'])
  assert.deepEqual(run.tick(), ['read'])
  assert.deepEqual(run.effects, [['read', 'first', 0, 0]])
  assert.equal(run.now, 1_500)
})

test('sends no first GET when the channel has responded', () => {
  const run = listening()
  run.later(500)
  assert.deepEqual(run.on(['tick']), [])
})

test('polls after two channels that never opened, and continues after its last seq', () => {
  const run = polling()
  assert.deepEqual(run.effects, [['close'], ['read', 'poll', 3_000, 1]])
  run.on(['responded', 'poll', responseOf(snapshotAt(run.now, { seq: 4 }))])
  assert.equal(run.state.phase, 'pausing')
  run.tick()
  assert.deepEqual(run.effects, [['read', 'poll', 3_000, 4]])
})

for (const [code, phase] of [
  [1006, 'listening'],
  [4400, 'polling'],
  [4429, 'polling'],
] as const)
  test(`is ${phase} after an open channel closed with ${code}`, () => {
    const run = listening()
    run.on(['closed', code, 0], ['responded', 'poll', responseOf(snapshotAt(run.now))])
    run.tick()
    assert.equal(run.state.phase, phase)
  })

test('sends nothing before the time that a restarting service asks for', () => {
  const run = listening()
  assert.deepEqual(run.on(['closed', 1012, 2_000]), ['close'])
  assert.equal(run.state.phase, 'resting')
  const { now } = run
  assert.deepEqual(run.tick(), ['read'])
  assert.equal(run.now, now + 2_000)
})

test('waits as long as Retry-After says, but not beyond the expiry', () => {
  const run = new Run()
  run.on(['start'], ['closed', 1006, 0])
  run.on(['responded', 'poll', { kind: 'later', retryAfterMs: 10_000 }])
  assert.equal(run.state.timers.turn, run.now + 12_500)
})

test('leaves a silent channel, and a channel that did not report a change', () => {
  for (const [ms, known] of [
    [5_000, {}],
    [0, { seq: 2 }],
  ] as const) {
    const run = listening()
    run.later(ms).on(['woke'])
    const response = responseOf(snapshotAt(run.now, known))
    assert.equal(run.on(['responded', run.purpose, response]).at(-2), 'close')
    assert.equal(run.state.failedChannels, ms === 0 ? 0 : 1)
  }
})

test('polls after two channels that opened and then were silent, and not after frames between', () => {
  for (const hasFrame of [false, true]) {
    const run = new Run()
    run.on(['start'], ['responded', 'first', responseOf(snapshotAt(run.now))])
    for (let channel = 0; channel < 2; channel++) {
      run.on(['opened'])
      if (hasFrame) run.later(2_000).on(run.hello)
      // Nothing arrives, and GET shows the session as it is known.
      while (!run.effects.some(([name, of]) => name === 'read' && typeof of === 'object'))
        run.tick()
      run.on(['responded', run.purpose, responseOf(snapshotAt(run.now))])
      run.on(['responded', 'poll', responseOf(snapshotAt(run.now))])
      run.tick()
    }
    assert.equal(run.state.phase, hasFrame ? 'listening' : 'polling')
  }
})

test('keeps a channel that has reported everything', () => {
  const run = listening()
  run.on(['woke'])
  run.on(['responded', run.purpose, responseOf(snapshotAt(run.now))])
  assert.equal(run.state.phase, 'listening')
})

test('reports lost contact without the QR code, and its return with it', () => {
  const payload = 'pulse://bond?session_id=1'
  const run = new Run()
  const code = {
    qr_payload: payload,
    universal_link: 'https://bond.example/bond',
    challenge_rotates_in_ms: 60_000,
    challenge_expires_in_ms: 120_000,
  }
  run.on(['start'], ['opened'], ['frame', snapshotAt(run.now, code)])
  const shown = () =>
    run.effects.flatMap((effect) => (effect[0] === 'snapshot' ? [effect[1].code?.payload] : []))
  run.later(5_000).on(['tick'])
  assert.ok(run.effects.some(([name, has]) => name === 'contact' && has === false))
  assert.deepEqual(shown(), [undefined])
  // A frame need not repeat the code.
  assert.deepEqual(run.on(run.hello), ['contact', 'snapshot'])
  assert.deepEqual(shown(), [payload])
})

const gone: SessionResponse = { kind: 'gone' }
const blocked: SessionResponse = { kind: 'blocked' }
for (const [what, events, effects] of [
  ['explains an unknown session', [['responded', 'first', gone]], ['explain']],
  ['explains a blocked answer', [['responded', 'first', blocked]], ['explain']],
  ['retries when the explanation is blocked', [['explained', 'first', blocked]], []],
  ['explains a session that is unknown then', [['explained', 'first', gone]], ['explain']],
  [
    'ends with the reason of the explanation',
    [['explained', 'first', { kind: 'rejected', reason: 'key_invalid' }]],
    ['close', 'end', 'unavailable'],
  ],
  [
    'ends with an answer that it cannot read',
    [['responded', 'first', { kind: 'unreadable' }]],
    ['close', 'end', 'unavailable'],
  ],
  ['ignores the answer of a poll that was aborted', [['responded', 'poll', gone]], []],
] as [string, WatchEvent[], string[]][])
  test(`${what}, before the service has shown the session`, () => {
    const run = new Run()
    assert.deepEqual(run.on(['start'], ...events), effects)
  })

test('shows a confirmed session that is gone after its expiry as expired', () => {
  const run = listening()
  run.later(300_000).on(['responded', 'first', gone])
  assert.equal(run.state.snapshot.state, 'expired')
  assert.equal(run.state.phase, 'ended')
})

for (const [state, reportedAt] of [
  ['bonded', null],
  ['pending', undefined],
] as const)
  test(`a session that expires after it was ${state} is ${state === 'bonded' ? '' : 'not '}approved`, () => {
    const run = listening()
    run.on(['frame', snapshotAt(run.now, { seq: 2, state })])
    run.on(['frame', snapshotAt(run.now, { seq: 3, state: 'expired' })])
    assert.equal(run.state.snapshot.state, 'expired')
    assert.equal(run.state.snapshot.reportedAt, reportedAt)
  })

test('a session that is first read after its expiry says whether it was approved', () => {
  const at = '2026-11-29T12:00:00.000Z'
  for (const [members, expected] of [
    [{}, 'expired'],
    [{ reported_at: null }, 'bonded'],
    [{ reported_at: at, outcome: 'in_review' }, 'in_review'],
    [{ reported_at: at, outcome: null }, 'completed'],
  ] as const) {
    const snapshot = snapshotAt(0, { seq: 3, state: 'expired', ...members })
    assert.equal(screenOf(snapshot, 0).name, expected)
  }
})

test('a bond that is gone after its expiry is approved', () => {
  const run = listening()
  run.on(['frame', snapshotAt(run.now, { seq: 2, state: 'bonded' })])
  run.later(300_000).on(['responded', 'first', gone])
  assert.equal(run.state.snapshot.reportedAt, null)
})

test('gives up after an outage of 30 s', () => {
  const run = polling()
  for (let count = 0; !run.isOver && count < 100; count += 1) {
    run.on(['responded', 'poll', { kind: 'later', retryAfterMs: 0 }])
    while (!run.isOver && run.state.phase !== 'polling') {
      run.tick()
      if (run.state.phase === 'listening') run.on(['closed', 1006, 0])
    }
  }
  assert.deepEqual(run.effects.at(-1), ['unavailable', 'network'])
})

test('sends nothing while the page sleeps, and GET first when it wakes', () => {
  const run = listening()
  assert.deepEqual(run.on(['slept', false]), ['close'])
  assert.equal(run.state.timers.turn, Infinity)
  assert.deepEqual(run.on(['woke']), ['read'])
  assert.deepEqual(run.on(['woke']), ['abort', 'read'])
})

test('ends a page that was closed as page_hidden', () => {
  const run = listening()
  run.on(['slept', true])
  assert.deepEqual(run.effects.at(-1), ['unavailable', 'page_hidden'])
})

test('takes the answer of a phone that was faster than Cancel', () => {
  const run = listening()
  assert.deepEqual(run.on(['cancel']), ['cancel'])
  const bonded = snapshotAt(run.now, { seq: 2, state: 'bonded' })
  assert.deepEqual(run.on(['cancelResponded', responseOf(bonded)]), ['snapshot'])
  assert.equal(run.state.phase, 'listening')
})

test('ends as canceled when the service does not respond to a cancel in 3 s', () => {
  const run = listening()
  run.on(['cancel'])
  run.later(3_000).on(['tick'])
  assert.deepEqual(run.effects.at(-1), ['unavailable', 'canceled'])
})

const times = fc.integer({ min: 0, max: 40_000 })
const snapshots = fc
  .record({
    seq: fc.nat(6),
    state: fc.constantFrom('pending', 'step_up_required', 'bonded', 'completed', 'killed'),
    expires_in_ms: fc.constantFrom(0, 20_000, 300_000),
    challenge_rotates_in_ms: times,
  })
  .map((members) => snapshotAt(1_000, members))
const responses: fc.Arbitrary<SessionResponse> = fc.oneof(
  snapshots.map(responseOf),
  fc.constantFrom<SessionResponse>(gone, blocked, { kind: 'unreadable' }),
  fc.record({ kind: fc.constant('later' as const), retryAfterMs: times }),
)
const purposes: fc.Arbitrary<ReadPurpose> = fc.oneof(
  fc.constantFrom<ReadPurpose>('poll', 'first'),
  fc.record({ known: snapshots, isSilent: fc.boolean() }),
)
const events: fc.Arbitrary<WatchEvent> = fc.oneof(
  fc.constantFrom<WatchEvent>(['opened'], ['woke'], ['cancel'], ['tick'], ['slept', false]),
  { arbitrary: fc.constantFrom<WatchEvent>(['stop'], ['slept', true]), weight: 1 },
  { arbitrary: fc.tuple(fc.constant('frame' as const), snapshots), weight: 2 },
  fc.tuple(fc.constant('closed' as const), fc.constantFrom(1006, 1012, 4400), times),
  {
    arbitrary: fc.tuple(fc.constantFrom('responded' as const, 'explained'), purposes, responses),
    weight: 3,
  },
  fc.tuple(fc.constant('cancelResponded' as const), responses),
)

test('no sequence of events ends a watch twice, or leaves a timer, a channel or a poll behind', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(times, events), { maxLength: 60 }), (steps) => {
      const run = new Run()
      const open = { channels: 0, polls: 0, ends: 0 }
      const all: (readonly [number, WatchEvent])[] = [[0, ['start']], ...steps]
      for (const [ms, event] of all) {
        const before = structuredClone(run.state)
        const given = run.state
        const wasEnded = run.state.phase === 'ended'
        run.later(ms).on(event)
        assert.deepEqual(given, before, 'changes no state that it was given')
        if (wasEnded) assert.deepEqual(run.effects, [])
        for (const [name, of] of run.effects) {
          if (name === 'open') open.channels += 1
          if (name === 'close') open.channels -= 1
          if (name === 'read' && of === 'poll') open.polls = 1
          if (name === 'abort') open.polls = 0
          if (name === 'end') open.ends += 1
        }
        const { phase, timers } = run.state
        const set = (name: keyof typeof timers) => Number.isFinite(timers[name])
        assert.equal(open.channels, Number(phase === 'listening'))
        if (phase === 'polling') assert.equal(open.polls, 1)
        assert.equal(open.ends, Number(phase === 'ended'))
        assert.equal(set('turn'), phase === 'resting' || phase === 'pausing')
        if (phase !== 'listening') assert.ok(!set('silence') && !set('firstAnswer'))
        if (phase === 'ended') assert.equal(Math.min(...Object.values(timers)), Infinity)
        assert.ok(!Object.values(timers).some(Number.isNaN))
      }
    }),
    { numRuns: 2_000 },
  )
})
