import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBounds, retentionProblem } from '../../src/domain/retention.ts'
import { endedOf, medianLatencyS, sumOf, type Totals } from '../../src/domain/totals.ts'

const TEN_YEARS = 3_650
const USUAL = {
  sessions: { min: 1, max: 30 },
  reasons: { min: 1, max: 365 },
  deliveries: { min: 1, max: 365 },
  receipts: { min: 1, max: 3_650 },
  audit: { min: 365, max: 3_650 },
}

test('bounds replace those of the kinds that they name, and no others', () => {
  assert.deepEqual(parseBounds('', TEN_YEARS), USUAL)
  assert.deepEqual(parseBounds('sessions=2-9', TEN_YEARS), {
    ...USUAL,
    sessions: { min: 2, max: 9 },
  })
  assert.deepEqual(
    parseBounds('audit=7-8, receipts=5-6 ,deliveries=3-4,reasons=2-3,sessions=1-2', TEN_YEARS),
    {
      sessions: { min: 1, max: 2 },
      reasons: { min: 2, max: 3 },
      deliveries: { min: 3, max: 4 },
      receipts: { min: 5, max: 6 },
      audit: { min: 7, max: 8 },
    },
  )
})

test('bounds end at a hundred years, and those of receipts at the retention of the log', () => {
  assert.deepEqual(parseBounds('audit=36500-36500', TEN_YEARS)?.audit, { min: 36_500, max: 36_500 })
  assert.equal(parseBounds('audit=1-36501', TEN_YEARS), undefined)
  assert.deepEqual(parseBounds('receipts=1-400', 400)?.receipts, { min: 1, max: 400 })
  assert.equal(parseBounds('receipts=1-401', 400), undefined)
  assert.deepEqual(parseBounds('', 400)?.receipts, { min: 1, max: 400 })
  assert.deepEqual(parseBounds('', 4_000)?.receipts, { min: 1, max: 3_650 })
})

test('rejects bounds of another syntax, another kind, a kind twice, or in the wrong order', () => {
  for (const text of [
    'sessions=3-2',
    'sessions=0-2',
    'sessions=1',
    'sessions=1-2-3',
    'sessions=1 - 2',
    'sessions=1-100000',
    'Sessions=1-2',
    'logs=1-2',
    'sessions=1-2,sessions=1-2',
    'sessions=1-2,',
    ',',
  ])
    assert.equal(parseBounds(text, TEN_YEARS), undefined, text)
})

test('a tenant has a whole number of days within the bounds of its kind', () => {
  const outside = (min: number, max: number) =>
    `is not a number of days from ${min} to ${max}, which BONDED_RETENTION_BOUNDS allows`
  for (const [kind, days, problem] of [
    ['sessions', 1, undefined],
    ['sessions', 30, undefined],
    ['sessions', 31, outside(1, 30)],
    ['sessions', 0, outside(1, 30)],
    ['sessions', 1.5, outside(1, 30)],
    ['sessions', undefined, undefined],
    ['audit', 364, outside(365, 3_650)],
    ['audit', 365, undefined],
    ['audit', 3_650, undefined],
    ['audit', 3_651, outside(365, 3_650)],
    ['logs', 1, 'is none of sessions, reasons, deliveries, receipts, audit'],
    ['toString', 1, 'is none of sessions, reasons, deliveries, receipts, audit'],
  ] as const)
    assert.equal(retentionProblem(kind, days), problem, `${kind} ${days}`)
  const own = { ...USUAL, sessions: { min: 5, max: 6 } }
  assert.equal(retentionProblem('sessions', 4, own), outside(5, 6))
  assert.equal(retentionProblem('sessions', 6, own), undefined)
})

const ONE: Totals = {
  created: 1,
  inbox: 2,
  approved: 4,
  completed: 8,
  declined: 16,
  reported: 32,
  expired: 64,
  stopped: 128,
  stepUps: 256,
  browserProofs: 512,
  rejections: 1_024,
  latencyMs: 2_048,
  latencies: [1, 2, 4, 8, 16, 32, 64, 128],
}

test('totals are added member by member, and the sessions that ended are of five kinds', () => {
  assert.deepEqual(sumOf([ONE, ONE, ONE]), {
    created: 3,
    inbox: 6,
    approved: 12,
    completed: 24,
    declined: 48,
    reported: 96,
    expired: 192,
    stopped: 384,
    stepUps: 768,
    browserProofs: 1_536,
    rejections: 3_072,
    latencyMs: 6_144,
    latencies: [3, 6, 12, 24, 48, 96, 192, 384],
  })
  assert.deepEqual(sumOf([]).latencies, [0, 0, 0, 0, 0, 0, 0, 0])
  assert.equal(endedOf(ONE), 4 + 16 + 32 + 64 + 128)
})

test('the median is linear within its bucket, whose ends double from 5 to 320 seconds', () => {
  const bucket = (index: number, count = 2) =>
    Array.from({ length: 8 }, (_, each) => (each === index ? count : 0))
  assert.deepEqual(
    Array.from({ length: 8 }, (_, index) => medianLatencyS(bucket(index))),
    [2.5, 7.5, 15, 30, 60, 120, 240, Number.POSITIVE_INFINITY],
  )
  assert.equal(medianLatencyS([0, 0, 0, 0, 0, 0, 0, 0]), undefined)
  assert.equal(medianLatencyS([1, 1, 0, 0, 0, 0, 0, 0]), 5)
  assert.equal(medianLatencyS([1, 0, 3, 0, 0, 0, 0, 0]), 10 + 10 / 3)
  assert.equal(medianLatencyS([3, 0, 0, 1, 0, 0, 0, 0]), 10 / 3)
})
