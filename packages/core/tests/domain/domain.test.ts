import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EvidenceSignals, VerifiedEvidence } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import { iso } from '../../src/domain/iso.ts'
import { scoreContinuity } from '../../src/domain/continuity.ts'
import { summarise, summarizeVerification } from '../../src/domain/evidence.ts'
import {
  ASSERTION_WEIGHTS,
  bandOf,
  fourDecimals,
  longLivedContinuity,
  PRESENCE_WEIGHTS,
  type Scores,
  score,
} from '../../src/domain/scoring.ts'
import { MOVES, TERMINAL } from '../../src/protocol/states.ts'
import { carriedSignals } from '../../../../tests/carried-signals.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const evidence = fc.record({
  local_auth: fc.record({
    result: fc.constantFrom('verified', 'failed'),
    method: fc.constantFrom('biometric', 'device_credential', 'passkey', 'none'),
  }),
  carrier: fc.record({
    number_verified: fc.boolean(),
    sim_swap_recent: fc.boolean(),
    device_status: fc.constantFrom('active', 'inactive', 'unknown'),
    source: fc.constantFrom('none', 'camara'),
  }),
  sensor_continuity: fc.record({ continuity_score: fc.float({ min: 0, max: 1, noNaN: true }) }),
  passport: fc.constantFrom({ tier: 'none' }, { tier: 'document' }, { tier: 'chip' }),
}) as unknown as fc.Arbitrary<VerifiedEvidence>
const scoringInputOf = (found: VerifiedEvidence) => ({
  evidence: found,
  localAuth: found.local_auth.result === 'verified',
  method: found.local_auth.method,
  attested: true,
  highestBand: 'high' as const,
})
const BANDS = ['low', 'medium', 'high'] as const

test('the weights of each number sum to 1', () => {
  const best = (weights: typeof ASSERTION_WEIGHTS | typeof PRESENCE_WEIGHTS) =>
    Object.values(weights).reduce<number>(
      (sum, weight) =>
        sum + (typeof weight === 'number' ? weight : Math.max(...Object.values<number>(weight))),
      0,
    )
  assert.ok(Math.abs(best(ASSERTION_WEIGHTS) - 1) < 1e-9)
  assert.ok(Math.abs(best(PRESENCE_WEIGHTS) - 1) < 1e-9)
})

test('scores lie between 0 and 1 with at most four decimals, and the band is the presence number’s', () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const scores = score(scoringInputOf(found))
      for (const value of [scores.assertionConfidence, scores.humanPresenceConfidence]) {
        assert.ok(value >= 0 && value <= 1)
        assert.ok(Math.abs(value * 10_000 - Math.round(value * 10_000)) < 1e-6)
      }
      assert.equal(scores.band, bandOf(scores.humanPresenceConfidence))
    }),
  )
})

test('removing a proof never raises a number', () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const whole = score(scoringInputOf(found))
      const lesser: VerifiedEvidence[] = [
        { ...found, local_auth: { ...found.local_auth, result: 'failed' } },
        { ...found, carrier: { ...found.carrier, number_verified: false } },
        { ...found, carrier: { ...found.carrier, sim_swap_recent: true } },
        { ...found, carrier: { ...found.carrier, device_status: 'unknown' } },
        { ...found, sensor_continuity: { ...found.sensor_continuity, continuity_score: 0 } },
        { ...found, passport: { tier: 'none', checked_at: '' } },
      ]
      for (const less of lesser) {
        const scores = score(scoringInputOf(less))
        assert.ok(scores.assertionConfidence <= whole.assertionConfidence)
        assert.ok(scores.humanPresenceConfidence <= whole.humanPresenceConfidence)
      }
    }),
  )
})

test('failed local authentication keeps the band low with any other proof', () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const scores = score({
        evidence: found,
        localAuth: false,
        method: found.local_auth.method,
        highestBand: 'high',
      })
      assert.equal(scores.band, 'low')
      assert.equal(bandOf(scores.assertionConfidence), 'low')
    }),
  )
})

test('a key keeps both numbers within its highest band, and a higher one never lowers a number', () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const [low, medium, high] = BANDS.map((highestBand) =>
        score({ ...scoringInputOf(found), highestBand }),
      ) as [Scores, Scores, Scores]
      for (const [limited, highest] of [
        [low, 0.5499],
        [medium, 0.7999],
      ] as const) {
        assert.equal(limited.assertionConfidence, Math.min(high.assertionConfidence, highest))
        assert.equal(
          limited.humanPresenceConfidence,
          Math.min(high.humanPresenceConfidence, highest),
        )
      }
    }),
  )
})

test('an unlocked phone with the least motion that the gate accepts is medium, without it too', () => {
  const band = (method: string, continuity_score: number) =>
    score(
      scoringInputOf({
        local_auth: { result: 'verified', method },
        carrier: { source: 'none' },
        sensor_continuity: { continuity_score },
      } as VerifiedEvidence),
    ).band
  assert.deepEqual(
    ['passkey', 'biometric', 'device_credential'].map((method) => [
      band(method, 0),
      band(method, 0.6),
    ]),
    [
      ['medium', 'high'],
      ['medium', 'high'],
      ['medium', 'medium'],
    ],
  )
})

test('a band begins with its threshold, and rounding never lifts a score over one', () => {
  assert.deepEqual([0.5499, 0.55, 0.7999, 0.8].map(bandOf), ['low', 'medium', 'medium', 'high'])
  assert.deepEqual([0.54999, 0.79999, 0.29].map(fourDecimals), [0.5499, 0.7999, 0.29])
})

test('the long-lived score moves about a third of the way to the newest bond', () => {
  assert.deepEqual(
    [
      longLivedContinuity(undefined, 0.5),
      longLivedContinuity(0.2, 0.8),
      longLivedContinuity(0.8, 0.2),
    ],
    [0.5, 0.41, 0.59],
  )
})

test('the long-lived score lies between its old value and the newest bond, and less proof never raises it', () => {
  const figure = fc.integer({ min: 0, max: 10_000 }).map((value) => value / 10_000)
  fc.assert(
    fc.property(figure, figure, figure, (previous, one, other) => {
      const longLived = longLivedContinuity(previous, one)
      // Rounded down, so up to one in the last decimal below.
      assert.ok(
        longLived >= Math.min(previous, one) - 0.0001 && longLived <= Math.max(previous, one),
      )
      assert.ok(
        longLivedContinuity(previous, Math.min(one, other)) <=
          longLivedContinuity(previous, Math.max(one, other)),
      )
      assert.equal(longLivedContinuity(undefined, one), one)
    }),
  )
})

test('never raises any of the four numbers when a phone reports less', () => {
  const judge = (
    signals: EvidenceSignals,
    passport: 'none' | 'document' | 'chip' | undefined,
    carrier: object,
  ) => {
    const found = summarise(
      {
        signals,
        requestedAt: NOW,
        carrier: {
          number_verified: false,
          sim_swap_recent: true,
          device_status: 'unknown',
          source: 'none',
          ...carrier,
        },
        continuity: scoreContinuity(signals.sensor_continuity),
        passport,
        sessionExpiresAt: NOW + 300_000,
        keyId: 'k1',
      },
      NOW,
    )
    const numbers = summarizeVerification(scoringInputOf({ ...found, signature: '' }), 0.5)
    return [
      numbers.assertion_confidence,
      numbers.human_presence_confidence,
      numbers.continuity_score_long_lived,
      numbers.sensor_continuity.continuity_score,
    ]
  }
  const requested = {
    number_verified: true,
    sim_swap_recent: false,
    device_status: 'active',
    source: 'camara',
  }
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom('biometric' as const, 'device_credential' as const, 'passkey' as const),
      fc.constantFrom(undefined, 'none' as const, 'document' as const, 'chip' as const),
      (seconds, method, passport) => {
        const { local_auth, sensor_continuity } = carriedSignals(NOW, seconds)
        const whole = {
          local_auth: { ...local_auth, method },
          ...(sensor_continuity && { sensor_continuity }),
        }
        const best = judge(whole, passport, requested)
        const lesser = [
          judge({ local_auth: whole.local_auth }, passport, requested),
          judge(
            { ...whole, local_auth: { ...whole.local_auth, result: 'failed' } },
            passport,
            requested,
          ),
          judge(
            { ...whole, local_auth: { ...whole.local_auth, method: 'none' } },
            passport,
            requested,
          ),
          judge(whole, undefined, requested),
          judge(whole, passport, {}),
        ]
        for (const less of lesser)
          assert.ok(less.every((value, index) => value <= (best[index] ?? 0)))
        for (const value of best) assert.ok(value >= 0 && value <= 1)
      },
    ),
  )
})

test('a carrier that was not queried adds nothing, whatever the finding', () => {
  fc.assert(
    fc.property(evidence, (found) => {
      const { carrier, ...rest } = found
      const silent = {
        number_verified: false,
        sim_swap_recent: true,
        device_status: 'unknown',
        source: 'none',
      }
      const withoutCarrier: VerifiedEvidence = { ...rest, carrier: { ...carrier, source: 'none' } }
      assert.deepEqual(
        score(scoringInputOf(withoutCarrier)),
        score(scoringInputOf({ ...rest, carrier: silent } as VerifiedEvidence)),
      )
    }),
  )
})

test('a biometric, a carried phone and no carrier are at least medium', () => {
  const found = {
    local_auth: { result: 'verified', method: 'biometric' },
    carrier: {
      number_verified: false,
      sim_swap_recent: false,
      device_status: 'unknown',
      source: 'none',
    },
    sensor_continuity: { continuity_score: 0.6 },
  } as VerifiedEvidence
  assert.notEqual(score(scoringInputOf(found)).band, 'low')
})

test('final states have no transition, and every other state can end', () => {
  const moves = Object.values(MOVES)
  for (const state of TERMINAL)
    assert.ok(moves.every(({ from }) => !(from as readonly string[]).includes(state)))
  for (const state of ['pending', 'step_up_required', 'bonded'] as const)
    assert.ok((MOVES.expire.from as readonly string[]).includes(state))
})

test('formats a time as JavaScript does, whichever time was formatted before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 4_102_444_799_999 }), { minLength: 1 }),
      (instants) => instants.every((instant) => iso(instant) === new Date(instant).toISOString()),
    ),
  )
  for (const ms of [0, 9, 10, 99, 100, 999, 59_999, 60_000])
    assert.equal(iso(ms), new Date(ms).toISOString())
})
