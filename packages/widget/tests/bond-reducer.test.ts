import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import {
  type BondEffect,
  type BondEvent,
  type BondState,
  INITIAL_BOND,
  reduceBond,
} from '../src/bond-reducer.ts'
import type { Containment } from '../src/container/containment.ts'
import type { Found, FoundSession } from '../src/session/find.ts'
import { readSnapshot, type Snapshot, unseen } from '../src/session/snapshot.ts'

const OK: Containment = { verdict: 'ok', breaches: [] }
const HIDDEN: Containment = { verdict: 'breached', breaches: ['covered'] }
const REPORTED_AT = '2026-11-29T12:00:00.000Z'
const SMALL: Containment = { verdict: 'breached', breaches: ['too_small'] }
const session: FoundSession = {
  kind: 'session',
  address: {
    id: 'sess_1',
    apiBaseUrl: 'https://bond.example',
    websocketUrl: 'wss://bond.example/sessions/sess_1',
    watchToken: 'bwt_1',
    tenantId: null,
  },
  snapshot: unseen(0),
  confirmed: false,
  pairs: [],
}
const snapshotOf = (members: object): Snapshot =>
  readSnapshot({ seq: 1, expires_in_ms: 300_000, ...members }, 0)!

/** A bond whose clock the test moves. */
class Run {
  now = 1_000
  state: BondState = INITIAL_BOND
  effects: BondEffect[] = []

  /** Dispatches events, and returns the names of the effects of the last one. */
  on(...events: readonly BondEvent[]): string[] {
    for (const event of events) {
      const reaction = reduceBond(this.state, event, { now: this.now, random: 0.5 })
      this.state = reaction.state
      this.effects = [...reaction.effects]
    }
    return this.effects.map(([name]) => name)
  }

  get screens(): string[] {
    return this.effects.flatMap((effect) => (effect[0] === 'show' ? [effect[1].name] : []))
  }

  get outcome(): unknown {
    return this.effects.find(([name]) => name === 'settle')?.[1]
  }
}

const LOADED: BondEvent[] = [['start'], ['loaded', true], ['contained', OK]]
const FOUND: BondEvent[] = [...LOADED, ['ready'], ['found', session]]
const WATCHING: BondEvent[] = [...FOUND, ['spoken']]
const after = (...events: BondEvent[]) => {
  const run = new Run()
  run.on(...events)
  return run
}

test('loads, measures, finds, waits for its texts, and watches, in this order', () => {
  const run = new Run()
  assert.deepEqual(run.on(['start']), ['load'])
  assert.deepEqual(run.on(['loaded', true]), ['guard'])
  assert.deepEqual(run.on(['contained', OK]), ['markBreached'])
  assert.deepEqual(run.on(['ready']), ['find'])
  assert.deepEqual(run.on(['found', session]), ['speak'])
  assert.deepEqual(run.on(['spoken']), ['watch', 'report', 'show', 'check'])
})

test('shows a session of the page only once the service has confirmed it', () => {
  const run = after(...FOUND)
  run.on(['spoken'])
  assert.deepEqual(run.screens, ['starting'])
  run.on(['snapshot', snapshotOf({ state: 'pending' })])
  assert.deepEqual(run.screens, ['waiting'])
  const resumed = after(...LOADED, ['ready'], ['found', { ...session, confirmed: true }])
  resumed.on(['spoken'])
  assert.deepEqual(resumed.screens, ['waiting'])
})

for (const [what, events, screen, reason] of [
  ['a part that was not loaded', [['loaded', false]], 'unreachable', 'network'],
  [
    'no session',
    [...LOADED, ['ready'], ['found', { kind: 'none', reason: 'session_endpoint_failed' }]],
    'unavailable',
    'session_endpoint_failed',
  ],
  ['a cancel before there is a session', [...LOADED, ['cancel']], 'killed', 'canceled'],
  [
    'a container that stays hidden',
    [...LOADED, ['contained', HIDDEN], ['breached']],
    'obstructed',
    'container_hidden',
  ],
  [
    'a container that stays too small',
    [...LOADED, ['contained', SMALL], ['breached']],
    'no_room',
    'container_hidden',
  ],
  [
    'a watch that gave up',
    [...WATCHING, ['unavailable', 'unknown_answer']],
    'unavailable',
    'unknown_answer',
  ],
] as [string, BondEvent[], string, string][])
  test(`closes with ${reason} for ${what}`, () => {
    const run = after(...events)
    assert.deepEqual(run.screens, [screen])
    assert.deepEqual(run.outcome, { state: 'unavailable', sessionId: null, reason })
    assert.equal(run.state.phase, 'closed')
  })

test('cancels a session that arrives, or waits for its texts, after the bond has closed', () => {
  const superseded: BondEvent = ['unavailable', 'superseded']
  assert.deepEqual(after(...LOADED, ['ready'], superseded).on(['found', session]), ['revoke'])
  assert.equal(after(...FOUND).on(superseded)[0], 'revoke')
  assert.ok(
    !after(...WATCHING)
      .on(superseded)
      .includes('revoke'),
  )
})

test('asks the service to cancel while it watches', () => {
  assert.deepEqual(after(...WATCHING).on(['cancel']), ['cancelWatch'])
})

test('settles once when bonded, and goes on watching for the completion', () => {
  const run = after(...WATCHING, ['snapshot', snapshotOf({ state: 'bonded' })])
  assert.deepEqual(run.outcome, { state: 'bonded', sessionId: 'sess_1' })
  assert.equal(run.state.phase, 'watching')
  run.on(['snapshot', snapshotOf({ state: 'completed', seq: 2 })])
  assert.deepEqual([run.outcome, run.screens], [undefined, ['completed']])
  assert.equal(run.state.phase, 'closed')
})

test('keeps showing the outcome when the service is lost after it', () => {
  const run = after(...WATCHING, ['snapshot', snapshotOf({ state: 'bonded' })])
  assert.deepEqual(run.on(['unavailable', 'network']), ['stop'])
})

test('still shows a bond whose time ended without a report, and no new attempt', () => {
  const run = after(...WATCHING, ['snapshot', snapshotOf({ state: 'bonded' })])
  run.on(['snapshot', snapshotOf({ state: 'expired', reported_at: null })])
  assert.deepEqual(run.screens, ['bonded'])
  assert.equal(run.outcome, undefined)
})

test('shows a late report of an approval that has expired', () => {
  for (const [outcome, screen] of [
    ['accepted', 'completed'],
    ['in_review', 'in_review'],
    // A backend reports after its action has succeeded (protocol 4).
    [null, 'completed'],
  ] as const) {
    const run = after(...WATCHING, ['snapshot', snapshotOf({ state: 'bonded' })])
    run.on(['snapshot', snapshotOf({ state: 'expired', outcome, reported_at: REPORTED_AT })])
    assert.deepEqual(run.screens, [screen])
  }
})

test('names the reason of a killed session, and none of an expired one', () => {
  const end = (members: object) => after(...WATCHING, ['snapshot', snapshotOf(members)]).outcome
  assert.deepEqual(end({ state: 'killed', ended_reason: 'user_declined' }), {
    state: 'killed',
    sessionId: null,
    reason: 'user_declined',
  })
  assert.deepEqual(end({ state: 'expired' }), { state: 'expired', sessionId: null })
})

test('keeps the stored session of a page that was left, and of no other outcome', () => {
  assert.ok(
    !after(...WATCHING)
      .on(['unavailable', 'page_hidden'])
      .includes('forget'),
  )
  assert.ok(
    after(...WATCHING)
      .on(['unavailable', 'network'])
      .includes('forget'),
  )
})

test('hides the QR code in a breach, and reports it unless the box is only too small', () => {
  assert.deepEqual(after(...WATCHING).on(['contained', HIDDEN]), [
    'markBreached',
    'report',
    'logBreach',
  ])
  assert.deepEqual(after(...WATCHING).on(['contained', SMALL]), ['markBreached', 'logBreach'])
  assert.deepEqual(after(...LOADED).on(['contained', HIDDEN]), ['markBreached', 'logBreach'])
})

test('draws the countdown each second, and ends an unanswered bond after 18 minutes', () => {
  const run = after(...WATCHING)
  run.now += 1_000
  assert.deepEqual(run.on(['tick']), ['show'])
  run.now += 1_079_000
  run.on(['tick'])
  assert.deepEqual(run.outcome, { state: 'unavailable', sessionId: null, reason: 'network' })
})

const WANTED: BondEvent = ['snapshot', snapshotOf({ state: 'step_up_required', hint: 'browser' })]
const [SECRET, COMMITMENT] = ['s'.repeat(43), 'c'.repeat(43)]
const proof = (report: object): BondEvent => ['proof', { screen: { name: 'browser' }, ...report }]

test('asks the browser only on the word of the service, and passes its secret on with the bond', () => {
  const run = after(...WATCHING)
  run.on(proof({ secret: 'planted' }), ['snapshot', snapshotOf({ state: 'step_up_required' })])
  assert.deepEqual([run.screens, run.state.secret], [['step_up'], undefined])
  assert.deepEqual(run.on(WANTED), ['openProof', 'show', 'check'])
  assert.deepEqual(run.screens, ['evaluating'])
  assert.deepEqual(run.on(WANTED), ['show', 'check'], 'once')
  run.on(proof({ secret: SECRET + COMMITMENT }))
  assert.deepEqual(run.screens, ['browser'])
  run.on(['snapshot', snapshotOf({ state: 'bonded', browser_commitment: COMMITMENT, seq: 3 })])
  assert.equal(run.effects[0]?.[0], 'closeProof')
  assert.deepEqual(run.outcome, { state: 'bonded', sessionId: 'sess_1', browserSecret: SECRET })
})

const ELSEWHERE = { state: 'unavailable', sessionId: null, reason: 'confirmed_elsewhere' }

test('is not bonded unless the service names this browser as the one that has proved itself', () => {
  for (const [own, named] of [
    // A page that was asleep while the other browser confirmed.
    [undefined, COMMITMENT],
    [SECRET + 'd'.repeat(43), COMMITMENT],
    // Of an older service, which names none.
    [SECRET + COMMITMENT, undefined],
    [SECRET, COMMITMENT],
  ]) {
    const bonded = snapshotOf({ state: 'bonded', browser_commitment: named, seq: 3 })
    const run = after(...WATCHING, WANTED, proof({ secret: own }), ['snapshot', bonded])
    assert.deepEqual([run.outcome, run.screens], [ELSEWHERE, ['elsewhere']], `${own} ${named}`)
    assert.ok(run.effects.some(([name]) => name === 'stop'))
  }
})

test('shows a bond of another browser at no time after a reload', () => {
  const bonded = snapshotOf({ state: 'bonded', browser_commitment: COMMITMENT, seq: 3 })
  const resumed = { ...session, snapshot: bonded, confirmed: true }
  const run = after(...LOADED, ['ready'], ['found', resumed, SECRET + 'd'.repeat(43)], ['spoken'])
  assert.deepEqual([run.outcome, run.screens], [ELSEWHERE, ['elsewhere']])
  const own = after(...LOADED, ['ready'], ['found', resumed, SECRET + COMMITMENT], ['spoken'])
  assert.deepEqual(own.outcome, { state: 'bonded', sessionId: 'sess_1', browserSecret: SECRET })
})

test('goes on with the secret of this tab after a reload, and asks again after a second approval', () => {
  const run = after(...LOADED, ['ready'], ['found', session, 'kept'], ['spoken'], WANTED)
  assert.deepEqual(run.effects[0], ['openProof', session.address, 'kept'])
  run.on(['snapshot', snapshotOf({ state: 'step_up_required', hint: 'step_up', seq: 2 })])
  assert.deepEqual([run.effects[0]?.[0], run.screens], ['closeProof', ['step_up']])
  assert.equal(run.on(WANTED)[0], 'openProof')
})

test('closes in the words of the proof in a browser that cannot give it', () => {
  const run = after(...WATCHING, WANTED)
  const text = { title: 'Not here', body: 'Use your phone.' }
  run.on(proof({ screen: { name: 'not_set_up', text }, reason: 'browser_unsupported' }))
  assert.deepEqual(run.effects.find(([name]) => name === 'show')?.[1], {
    name: 'not_set_up',
    code: null,
    expiresAt: null,
    hasContact: true,
    text,
  })
  assert.equal((run.outcome as { reason: string }).reason, 'browser_unsupported')
})

/** What an event may follow: the interpreter reports each of these only after its effect. */
const ONLY_AFTER: Partial<Record<BondEvent[0], BondEffect[0]>> = {
  loaded: 'load',
  contained: 'guard',
  breached: 'guard',
  ready: 'guard',
  found: 'find',
  spoken: 'speak',
  snapshot: 'watch',
  contact: 'watch',
}
const ONCE: readonly BondEvent[0][] = ['start', 'loaded', 'ready', 'found', 'spoken']
const found: fc.Arbitrary<Found> = fc.constantFrom<Found>(
  session,
  { ...session, confirmed: true },
  { kind: 'none', reason: 'network' },
)
const events: fc.Arbitrary<BondEvent> = fc.oneof(
  { arbitrary: fc.constantFrom<BondEvent>(['loaded', true], ['ready'], ['spoken']), weight: 6 },
  { arbitrary: fc.tuple(fc.constant('found' as const), found), weight: 3 },
  fc.tuple(fc.constant('contained' as const), fc.constantFrom(OK, HIDDEN, SMALL)),
  fc.constantFrom<BondEvent>(['loaded', false], ['breached'], ['cancel'], ['tick']),
  fc.constantFrom<BondEvent>(['unavailable', 'superseded'], ['unavailable', 'page_hidden']),
  fc.tuple(fc.constant('contact' as const), fc.boolean()),
  fc.tuple(
    fc.constant('snapshot' as const),
    fc
      .constantFrom('pending', 'step_up_required', 'bonded', 'completed', 'killed', 'expired')
      .map((state) => snapshotOf({ state })),
  ),
)

test('no sequence of events settles a bond twice, or leaves a timer or a watch behind', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 400_000 }), events), { maxLength: 60 }),
      (steps) => {
        const run = new Run()
        const performed = new Map<string, number>()
        const seen = new Set<string>()
        const all: (readonly [number, BondEvent])[] = [[0, ['start']], ...steps]
        for (const [ms, event] of all) {
          const needs = ONLY_AFTER[event[0]]
          if (needs && !performed.has(needs)) continue
          if (ONCE.includes(event[0]) && seen.has(event[0])) continue
          seen.add(event[0])
          const given = run.state
          const before = structuredClone(given)
          run.now += ms
          run.on(event)
          assert.deepEqual(given, before, 'changes no state that it was given')
          if (given.phase === 'closed')
            assert.ok(run.effects.every(([name]) => name === 'revoke' && event[0] === 'found'))
          for (const [name] of run.effects) performed.set(name, (performed.get(name) ?? 0) + 1)
          const { phase, timers, isSettled } = run.state
          assert.equal(performed.get('settle') ?? 0, Number(isSettled))
          assert.equal(performed.get('stop') ?? 0, Number(phase === 'closed'))
          if (phase === 'closed') assert.ok(isSettled)
          if (phase === 'watching') assert.ok(Number.isFinite(timers.draw))
          else assert.ok(timers.draw === Infinity && timers.longest === Infinity)
          for (const name of ['load', 'guard', 'find', 'speak', 'watch'])
            assert.ok((performed.get(name) ?? 0) <= 1, name)
        }
      },
    ),
    { numRuns: 2_000 },
  )
})
