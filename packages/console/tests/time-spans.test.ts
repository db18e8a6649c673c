import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COUNTS, DAY_MS, HOUR_MS, LATENCY_BOUNDS_S, type Totals } from '@bonded/core/domain/totals'
import { beginOf, slotsOf, TIME_SPANS } from '../src/time-spans.ts'

const NOW = Date.UTC(2026, 10, 27, 18, 30)
const NONE = {
  ...(Object.fromEntries(COUNTS.map((name) => [name, 0])) as Omit<Totals, 'latencies'>),
  latencies: [...LATENCY_BOUNDS_S, 0].map(() => 0),
}
const row = (from: number, created: number) => ({
  ...NONE,
  created,
  from,
  tenantId: null,
  workflow: null,
})

test('the last slot of every span has the current hour or day', () => {
  for (const span of Object.values(TIME_SPANS)) {
    const slots = slotsOf(span, [], NOW)
    const last = slots.at(-1)?.from ?? 0
    assert.equal(slots.length, span.slots)
    assert.equal(slots[0]?.from, beginOf(span, NOW))
    assert.ok(last <= NOW && NOW < last + span.slotMs, span.text)
  }
  assert.equal(beginOf(TIME_SPANS.day, NOW), Date.UTC(2026, 10, 26, 19))
  assert.equal(beginOf(TIME_SPANS.month, NOW), Date.UTC(2026, 9, 29))
})

test('a slot has the sum of its days, and an hour without requests is zero', () => {
  const day = NOW - (NOW % DAY_MS)
  const rows = [row(day, 1), row(day - 6 * DAY_MS, 2), row(day - 7 * DAY_MS, 4)]
  const weeks = slotsOf(TIME_SPANS.year, rows, NOW).map(({ totals }) => totals.created)
  assert.deepEqual(weeks.slice(-3), [0, 4, 3])
  const hour = NOW - (NOW % HOUR_MS)
  const hours = slotsOf(TIME_SPANS.hour, [row(hour - HOUR_MS, 5)], NOW)
  assert.deepEqual(
    hours.map(({ totals }) => totals.created),
    [5, 0],
  )
})
