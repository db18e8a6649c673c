import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UNATTESTED, type VerifiedEvidence, type Workflow } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import {
  acceptsKey,
  highestBandOf,
  isAttested,
  hasIndependentEvidence,
  type KeyFacts,
  needsAttestedKey,
} from '../../src/domain/key-rules.ts'
import { policyOf } from '../../src/domain/policy.ts'

const DAY_MS = 24 * 60 * 60_000
const NOW = Date.parse('2026-11-23T09:30:00.000Z')

interface KeyOptions {
  /** Undefined: an unattested passkey. */
  readonly device?: Partial<KeyFacts['device']>
  readonly ageMs?: number
  readonly hasCompleted?: boolean
  readonly named?: boolean
  readonly phoneNumber?: boolean
}

function factsOf(workflow: Partial<Workflow>, given: KeyOptions = {}): KeyFacts {
  const { device, ageMs = 0, hasCompleted = false, named = false, phoneNumber = false } = given
  return {
    now: NOW,
    session: {
      policy: policyOf({ name: 'w', actions: ['a'], ...workflow }),
      wantedSubjectRef: named ? 'subject' : null,
      sealedPhoneNumber: phoneNumber ? 'sealed' : null,
    },
    device: { format: 'webauthn', createdAt: NOW - ageMs, ...device },
    hasCompleted,
  }
}

/** The highest band at the first visit, for a named user, and for a known user by each way. */
function bandsOf(workflow: Partial<Workflow>) {
  const band = (given: KeyOptions) => highestBandOf(factsOf(workflow, given), false)
  return {
    first: band({}),
    named: band({ named: true }),
    almostADay: band({ named: true, ageMs: DAY_MS - 1 }),
    aDay: band({ named: true, ageMs: DAY_MS }),
    completed: band({ named: true, hasCompleted: true }),
    unnamed: band({ ageMs: DAY_MS, hasCompleted: true }),
    independent: highestBandOf(factsOf(workflow), true),
  }
}

test('by default an unattested key is low at first, and medium for a known user', () => {
  assert.deepEqual(bandsOf({}), {
    first: 'low',
    named: 'low',
    almostADay: 'low',
    aDay: 'medium',
    completed: 'medium',
    unnamed: 'low',
    independent: 'medium',
  })
  assert.deepEqual(bandsOf({ unattested: 'known' }), bandsOf({}))
})

test('a workflow keeps every unattested key low, or accepts it at the first visit', () => {
  assert.deepEqual(new Set(Object.values(bandsOf({ unattested: 'review' }))), new Set(['low']))
  assert.deepEqual(new Set(Object.values(bandsOf({ unattested: 'accept' }))), new Set(['medium']))
})

const ATTESTED = [
  { format: 'apple-app-attest' },
  { format: 'android-key' },
  { format: 'webauthn', webauthn: { attested: true, backupEligible: false } },
] as const

test('no rule limits an attested key, or a software key of the sandbox', () => {
  for (const device of [...ATTESTED, { format: 'software' } as const])
    for (const unattested of UNATTESTED) {
      const facts = factsOf({ unattested, webauthn: 'attested' }, { device })
      assert.equal(highestBandOf(facts, false), 'high', device.format)
      assert.equal(acceptsKey(facts), true, device.format)
    }
})

test('a key is attested only if its registration proved it', () => {
  assert.deepEqual(ATTESTED.map(isAttested), [true, true, true])
  assert.equal(isAttested({ format: 'software' }), false)
  assert.equal(isAttested({ format: 'webauthn' }), false)
  assert.equal(
    isAttested({ format: 'webauthn', webauthn: { attested: false, backupEligible: true } }),
    false,
  )
})

test('a verified number without a recent SIM swap, or a chip, is evidence that a script lacks', () => {
  const independent = (carrier: object, tier?: 'none' | 'document' | 'chip') =>
    hasIndependentEvidence({
      carrier: { number_verified: true, sim_swap_recent: false, ...carrier },
      ...(tier && { passport: { tier } }),
    } as VerifiedEvidence)
  assert.equal(independent({}), true)
  assert.equal(independent({ sim_swap_recent: true }), false)
  assert.equal(independent({ number_verified: false }), false)
  assert.equal(independent({ number_verified: false }, 'document'), false)
  assert.equal(independent({ number_verified: false }, 'chip'), true)
})

test('more proof never lowers the highest band', () => {
  const bands = ['low', 'medium', 'high']
  const rank = (facts: KeyFacts, hasIndependent: boolean) =>
    bands.indexOf(highestBandOf(facts, hasIndependent))
  fc.assert(
    fc.property(
      fc.constantFrom(...UNATTESTED),
      fc.record({
        ageMs: fc.integer({ min: 0, max: 2 * DAY_MS }),
        hasCompleted: fc.boolean(),
        named: fc.boolean(),
      }),
      fc.boolean(),
      (unattested, given, hasIndependent) => {
        const less = rank(factsOf({ unattested }, given), hasIndependent)
        for (const more of [{ ageMs: 2 * DAY_MS }, { hasCompleted: true }, { named: true }])
          assert.ok(rank(factsOf({ unattested }, { ...given, ...more }), hasIndependent) >= less)
        assert.ok(rank(factsOf({ unattested }, given), true) >= less)
        assert.ok(rank(factsOf({ unattested }, { ...given, device: ATTESTED[0] }), false) >= less)
      },
    ),
  )
})

test('a workflow accepts unattested keys by default, for named users only, or none', () => {
  const accepts = (workflow: Partial<Workflow>) => [
    acceptsKey(factsOf(workflow)),
    acceptsKey(factsOf(workflow, { named: true })),
  ]
  for (const workflow of [{}, { webauthn: 'known' as const }, { webauthn: 'attested' as const }])
    for (const named of [false, true]) {
      const facts = factsOf(workflow, { named })
      assert.equal(needsAttestedKey(facts.session), !acceptsKey(facts))
    }
  assert.deepEqual(accepts({}), [true, true])
  assert.deepEqual(accepts({ webauthn: 'any' }), [true, true])
  assert.deepEqual(accepts({ webauthn: 'known' }), [false, true])
  assert.deepEqual(accepts({ webauthn: 'attested' }), [false, false])
})

test('a key that cannot reach the required band is rejected before the user proves anything', () => {
  const accepts = (workflow: Partial<Workflow>, given: KeyOptions) =>
    acceptsKey(factsOf(workflow, given))
  const known = { named: true, hasCompleted: true }
  const medium = { require: ['band:medium' as const] }
  assert.deepEqual([accepts(medium, {}), accepts(medium, known)], [false, true])
  // The carrier or the chip can still lift the bond.
  assert.equal(accepts(medium, { phoneNumber: true }), true)
  assert.equal(accepts({ ...medium, passport: 'optional' }, {}), true)
  const high = { require: ['band:high' as const] }
  assert.deepEqual([accepts(high, {}), accepts(high, known)], [false, false])
  assert.equal(accepts(high, { device: ATTESTED[0] }), true)
})
