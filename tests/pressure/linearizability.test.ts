import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choose, random } from './chance.ts'
import { linearize, type Recorded } from './linearizability.ts'
import type { History } from './recorder.ts'
import { type CallResponse, type Call, NEW_SESSION, sessionModel } from './session-model.ts'

const explains = (history: History) => linearize(sessionModel, NEW_SESSION, history) !== undefined
const never = Number.POSITIVE_INFINITY

/** Calls one after the other, or with the given times. */
function history(
  ...lines: readonly (readonly [
    Call,
    CallResponse | undefined,
    calledAt?: number,
    respondedAt?: number,
  ])[]
): History {
  return lines.map(([call, response, calledAt, respondedAt], index) => ({
    call,
    response,
    calledAt: calledAt ?? 10 * index,
    respondedAt: respondedAt ?? 10 * index + 5,
  }))
}
const attest = (phone: string): Call => ({
  do: 'attest',
  phone,
  nonce: 'shown',
  counter: 1,
  kind: 'good',
  assertion: phone,
})
const claim = (phone: string): Call => ({ do: 'claim', phone, nonce: 'shown' })
const read: Call = { do: 'read', as: 'backend' }
const complete: Call = { do: 'complete', secret: 'right' }
const kill: Call = { do: 'kill' }
const bonded = { state: 'bonded', seq: 2 } as const

test('explains a history in which each response follows from the earlier ones', () => {
  const seen = { ...bonded, hint: null, endedReason: null, proved: true }
  const recorded = history(
    [attest('a'), bonded],
    [read, seen],
    [complete, {}],
    [attest('a'), { state: 'completed', seq: 3 }],
    [kill, {}],
    [read, { ...seen, state: 'completed', seq: 3 }],
  )
  assert.ok(explains(recorded))
})

test('explains overlapping calls in either order', () => {
  const late = { rejected: 'session_claimed' }
  assert.ok(
    explains(history([claim('a'), late, 0, 9], [claim('b'), { state: 'pending', seq: 2 }, 1, 8])),
  )
  assert.ok(
    explains(history([claim('a'), { state: 'pending', seq: 2 }, 0, 9], [claim('b'), late, 1, 8])),
  )
})

test('explains a lost response with and without an effect of its call', () => {
  const [lost, none] = [[claim('a'), undefined, 0, never] as const, { rejected: 'session_claimed' }]
  assert.ok(explains(history(lost, [claim('b'), none])))
  assert.ok(explains(history(lost, [claim('b'), { state: 'pending', seq: 2 }])))
})

const PLANTED: readonly (readonly [fault: string, History])[] = [
  [
    'a stale read',
    history([claim('a'), { state: 'pending', seq: 2 }], [read, { state: 'pending', seq: 1 }]),
  ],
  [
    'a stale read beside a call under way',
    history(
      [claim('a'), { state: 'pending', seq: 2 }, 0, 5],
      [read, { state: 'pending', seq: 1 }, 6, 9],
      [kill, {}, 1, 20],
    ),
  ],
  ['a read of what comes later', history([read, bonded], [attest('a'), bonded])],
  ['a double bond', history([attest('a'), bonded, 0, 9], [attest('b'), bonded, 1, 8])],
  [
    'a second bond on top of the first',
    history([attest('a'), bonded, 0, 9], [attest('b'), { state: 'bonded', seq: 3 }, 1, 8]),
  ],
  [
    'a double claim',
    history(
      [claim('a'), { state: 'pending', seq: 2 }, 0, 9],
      [claim('b'), { state: 'pending', seq: 3 }, 1, 8],
    ),
  ],
  ['a completion after a kill', history([attest('a'), bonded], [kill, {}], [complete, {}])],
  [
    'a kill and a completion that both won',
    history(
      [attest('a'), bonded],
      [kill, {}, 10, 19],
      [complete, {}, 11, 18],
      [
        read,
        { state: 'killed', seq: 3, hint: null, endedReason: 'killed_by_tenant', proved: false },
      ],
    ),
  ],
  [
    'an acknowledged completion that was lost',
    history([attest('a'), bonded], [complete, {}], [read, bonded]),
  ],
  [
    'a lost update',
    history(
      [claim('a'), { state: 'pending', seq: 2 }],
      [kill, {}],
      [read, { state: 'killed', seq: 2 }],
    ),
  ],
  [
    'two steps of seq for one move',
    history(
      [claim('a'), { state: 'pending', seq: 2 }],
      [kill, {}],
      [read, { state: 'killed', seq: 4 }],
    ),
  ],
  [
    'a completion after its time',
    history([attest('a'), bonded], [{ do: 'wait', until: 120_000 }, undefined], [complete, {}]),
  ],
  [
    'a move after a reader received the end',
    history(
      [{ do: 'wait', until: 60_000 }, undefined, 1, 2],
      [claim('a'), { state: 'pending', seq: 2 }, 0, 9],
      [read, { state: 'expired', seq: 1 }, 3, 10],
    ),
  ],
  [
    'a counter taken twice',
    history(
      [{ do: 'evidence', phone: 'a', nonce: 'shown', counter: 1 }, {}],
      [attest('a'), bonded],
    ),
  ],
  [
    'a proof shown to a browser',
    history(
      [attest('a'), bonded],
      [
        { do: 'read', as: 'browser' },
        { ...bonded, proved: true },
      ],
    ),
  ],
  [
    'an answer to a phone that another one shut out',
    history(
      [claim('a'), { state: 'pending', seq: 2 }],
      [
        { do: 'read', as: 'phone', phone: 'b' },
        { state: 'pending', seq: 2 },
      ],
    ),
  ],
]

for (const [fault, planted] of PLANTED) {
  test(`detects ${fault}`, () => assert.ok(!explains(planted)))
}

/** A correct history: each call takes effect at some point between its call and its response. */
function correctHistory(calls: number): { history: History; effects: readonly number[] } {
  let session = NEW_SESSION
  const effects: number[] = []
  const recorded: Recorded<Call, CallResponse>[] = []
  for (let index = 0; index < calls; index++) {
    const call =
      index < calls - 20
        ? lively(index)
        : choose<Call>([attest('a'), complete, kill, read, claim('b'), read])
    const [next, response] = sessionModel.apply(session, call)
    session = next
    const effect = 100 * index
    effects.push(effect)
    // The clock advances at every step, so no call has its response at the moment of the call.
    recorded.push({
      call,
      response: random(50) === 0 ? undefined : response,
      calledAt: effect - 1 - random(400),
      respondedAt: effect + random(400),
    })
  }
  return { history: recorded, effects }
}

/** The calls that leave a session pending. */
function lively(at: number): Call {
  const phone = choose(['a', 'b'])
  return choose<Call>([
    read,
    { do: 'read', as: 'browser' },
    { do: 'read', as: 'phone', phone },
    claim('a'),
    claim('b'),
    complete,
    { do: 'complete', secret: 'wrong' },
    { do: 'evidence', phone, nonce: 'shown', counter: at + 2 },
    { do: 'sweep' },
  ])
}

test('explains a correct history of 3,000 overlapping calls', () => {
  for (let run = 0; run < 5; run++) assert.ok(explains(correctHistory(3_000).history))
})

test('detects a response from outside the time of its call in such a history', () => {
  for (let run = 0; run < 200; run++) {
    const { history: seen, effects } = correctHistory(60)
    const reads = seen.flatMap(({ call, response }, index) =>
      call.do === 'read' && response?.seq !== undefined ? [index] : [],
    )
    const at = choose(reads)
    const wrong = seen.map((recorded, index) =>
      index === at
        ? {
            ...recorded,
            response: {
              ...recorded.response,
              seq: 1 + Number(recorded.response?.seq) + effects.length,
            },
          }
        : recorded,
    )
    assert.ok(!explains(wrong), 'a seq that never was')
    const stale = staleRead(seen, at)
    if (stale !== undefined) assert.ok(!explains(stale), 'a seq from before')
  }
})

/**
 * The read returns a `seq` below one that another caller received before the read began. (A caller
 * without a response may have taken effect later.)
 */
function staleRead(seen: History, at: number): History | undefined {
  const reader = seen[at] as History[number]
  const seenBefore = seen.flatMap(({ response, respondedAt }) =>
    response?.seq !== undefined && respondedAt < reader.calledAt ? [response.seq] : [],
  )
  const latest = Math.max(...seenBefore)
  if (latest <= 1) return undefined
  return seen.map((recorded, index) =>
    index === at ? { ...recorded, response: { ...recorded.response, seq: latest - 1 } } : recorded,
  )
}
