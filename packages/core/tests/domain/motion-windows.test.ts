import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compareWindow,
  isWorthStoring,
  type MotionMemory,
  repeated,
} from '../../src/domain/motion-memory.ts'

const NOW = Date.parse('2026-11-26T12:00:00.000Z')
const WINDOW_MS = 8_000
/** Two minutes and the length of the window: windows of that time overlap with honest ones. */
const RECENT_MS = 120_000 + WINDOW_MS

const stored = (ago: number, ...fingerprints: number[]) => ({ at: NOW - ago, fingerprints })
const compare = (windows: MotionMemory['windows'], ...shown: number[]) =>
  compareWindow(new Set(shown), {
    memory: { keyId: 'k1', windows },
    windowMs: WINDOW_MS,
    now: NOW,
  })

test('a window repeats one that is older than two minutes and its own length', () => {
  const recent = [stored(RECENT_MS, 1, 2, 3)]
  assert.deepEqual(compare(recent, 1, 2, 3), { keyId: 'k1', windows: recent })
  assert.equal(compare([stored(RECENT_MS + 1, 1, 2, 3)], 1, 2, 3), 'repetition')
  // Of two that are alike, the old one decides, wherever it is.
  const both = [stored(1, 1, 2), stored(RECENT_MS + 1, 1, 2)]
  assert.equal(compare(both, 1, 2), 'repetition')
  assert.equal(compare(both.toReversed(), 1, 2), 'repetition')
})

test('a new window is stored last, and displaces the oldest of eight', () => {
  const eight = [8, 7, 6, 5, 4, 3, 2, 1].map((ago) => stored(ago, ago * 10, ago * 10 + 1))
  assert.deepEqual(compare(eight.slice(1), 1, 2), {
    keyId: 'k1',
    windows: [...eight.slice(1), stored(0, 1, 2)],
  })
  assert.deepEqual(compare(eight, 1, 2), {
    keyId: 'k1',
    windows: [...eight.slice(1), stored(0, 1, 2)],
  })
})

test('a repetition proves nothing about the present, and keeps what was measured', () => {
  assert.deepEqual(repeated({ motionPresent: true, score: 0.9, windowMs: 8_000, samples: 7 }), {
    motionPresent: false,
    score: 0,
    windowMs: 8_000,
    samples: 7,
  })
  const of = (score: number) => ({ motionPresent: true, score, windowMs: 1, samples: 1 })
  assert.deepEqual([isWorthStoring(of(0.6)), isWorthStoring(of(0.5999))], [true, false])
})
