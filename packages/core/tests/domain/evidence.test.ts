import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EvidenceSignals, VerifiedEvidence } from '@bonded/contract'
import {
  evidenceIsCurrent,
  type Findings,
  localAuthTime,
  summarise,
} from '../../src/domain/evidence.ts'
import { instantOf, iso } from '../../src/domain/iso.ts'
import {
  EVIDENCE_TTL_MS,
  ISSUED_AT_MAX_AHEAD_MS,
  LOCAL_AUTH_MAX_AGE_MS,
} from '../../src/domain/lifetimes.ts'
import { CREATED_AT as NOW } from '../records.ts'

const local_auth = { result: 'verified', method: 'biometric', verified_at: iso(NOW) } as const
const summary = (
  local: Partial<EvidenceSignals['local_auth']> = {},
  findings: Partial<Findings> = {},
) =>
  summarise(
    {
      signals: { local_auth: { ...local_auth, ...local } },
      requestedAt: NOW,
      carrier: {
        number_verified: false,
        sim_swap_recent: true,
        device_status: 'unknown',
        source: 'none',
      },
      continuity: { score: 0, motionPresent: false, samples: 0, windowMs: 0 },
      passport: undefined,
      sessionExpiresAt: NOW + 2 * EVIDENCE_TTL_MS,
      keyId: 'k1',
      ...findings,
    },
    NOW,
  )

test('a local authentication counts for two minutes, and may be half a minute ahead', () => {
  const times = (age: number) => localAuthTime({ verified_at: iso(NOW - age) }, NOW)
  assert.deepEqual(
    [
      times(LOCAL_AUTH_MAX_AGE_MS),
      times(LOCAL_AUTH_MAX_AGE_MS + 1),
      times(-ISSUED_AT_MAX_AHEAD_MS),
      times(-ISSUED_AT_MAX_AHEAD_MS - 1),
    ],
    ['in_range', 'too_old', 'in_range', 'ahead'],
  )
})

test('every doubt about the local authentication results in `failed`', () => {
  const result = (local: Partial<EvidenceSignals['local_auth']>) => summary(local).local_auth.result
  assert.equal(result({}), 'verified')
  assert.equal(result({ result: 'failed' }), 'failed')
  assert.equal(result({ method: 'none' }), 'failed')
  assert.equal(result({ verified_at: iso(NOW - LOCAL_AUTH_MAX_AGE_MS - 1) }), 'failed')
  assert.equal(result({ verified_at: iso(NOW + ISSUED_AT_MAX_AHEAD_MS + 1) }), 'failed')
})

test('evidence expires after five minutes, or with its session if that is sooner', () => {
  const expiry = (sessionExpiresAt: number) =>
    instantOf(summary({}, { sessionExpiresAt }).expires_at)
  assert.equal(expiry(NOW + EVIDENCE_TTL_MS + 1), NOW + EVIDENCE_TTL_MS)
  assert.equal(expiry(NOW + EVIDENCE_TTL_MS - 1), NOW + EVIDENCE_TTL_MS - 1)
})

test('a passport that was not sent or not accepted is absent, and not one of the tier `none`', () => {
  assert.ok(!('passport' in summary()))
  assert.deepEqual(summary({}, { passport: 'none' }).passport, {
    checked_at: iso(NOW),
    tier: 'none',
  })
})

test('members are in canonical order at every level', () => {
  const isSorted = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return true
    const keys = Object.keys(value)
    return keys.join() === keys.toSorted().join() && Object.values(value).every(isSorted)
  }
  const { carrier, ...rest } = summary({}, { passport: 'chip' })
  assert.ok(isSorted(rest))
  assert.equal(Object.keys(carrier)[0], 'checked_at')
})

test('evidence is current from half a minute before its issue until its expiry', () => {
  const current = (now: number, members: Partial<VerifiedEvidence> = {}) =>
    evidenceIsCurrent({ ...summary(), signature: '', ...members }, now)
  assert.deepEqual(
    [
      current(NOW - 30_000),
      current(NOW - 30_001),
      current(NOW + EVIDENCE_TTL_MS - 1),
      current(NOW + EVIDENCE_TTL_MS),
    ],
    [true, false, true, false],
  )
})

test('evidence with a longer lifetime than the service gives, or with no time, is not current', () => {
  const current = (issued_at: string, expires_at: string) =>
    evidenceIsCurrent({ ...summary(), signature: '', issued_at, expires_at }, NOW)
  assert.equal(current(iso(NOW), iso(NOW + EVIDENCE_TTL_MS)), true)
  assert.equal(current(iso(NOW), iso(NOW + EVIDENCE_TTL_MS + 1)), false)
  assert.equal(current('', iso(NOW + 1)), false)
  assert.equal(current(iso(NOW), 'never'), false)
})
