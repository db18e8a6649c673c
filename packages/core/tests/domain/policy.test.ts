import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Requirement, VerifiedEvidence, Workflow } from '@bonded/contract'
import { policyOf, unmetRequirements } from '../../src/domain/policy.ts'

const workflow: Workflow = { name: 'w', actions: ['a'] }
const carrier = {
  number_verified: true,
  sim_swap_recent: false,
  device_status: 'active',
  source: 'none',
  checked_at: '',
}
const scores = { assertionConfidence: 1, humanPresenceConfidence: 1, band: 'high' } as const

/** What a workflow that asks for this misses, of proofs that are perfect but for `bend`. */
function missed(
  wanted: Partial<Workflow>,
  bend: { evidence?: object; localAuth?: boolean; band?: 'low' | 'medium' | 'high' } = {},
) {
  const evidence = {
    carrier,
    sensor_continuity: { continuity_score: 1 },
    ...bend.evidence,
  } as unknown as VerifiedEvidence
  const policy = policyOf({ ...workflow, ...wanted })
  return unmetRequirements(policy, {
    evidence,
    localAuth: bend.localAuth ?? true,
    scores: { ...scores, band: bend.band ?? 'high' },
  })
}
const asks = (requirement: Requirement) => ({ require: [requirement] })

test('a requirement is met by its proof and missed without it', () => {
  const all: Requirement[] = [
    'local_auth',
    'carrier',
    'sensor_continuity',
    'band:medium',
    'band:high',
  ]
  for (const requirement of all) assert.deepEqual(missed(asks(requirement)), [], requirement)
  assert.deepEqual(missed(asks('local_auth'), { localAuth: false }), ['local_auth'])
  for (const bend of [{ number_verified: false }, { sim_swap_recent: true }]) {
    assert.deepEqual(
      missed(asks('carrier'), { evidence: { carrier: { ...carrier, ...bend } } }),
      ['carrier'],
      JSON.stringify(bend),
    )
  }
  const continuity = (continuity_score: number) =>
    missed(asks('sensor_continuity'), { evidence: { sensor_continuity: { continuity_score } } })
  assert.deepEqual([continuity(0.6), continuity(0.5999)], [[], ['sensor_continuity']])
})

test('a higher band meets the requirement of a lower one', () => {
  const met = (requested: Requirement) =>
    (['low', 'medium', 'high'] as const).filter(
      (band) => missed(asks(requested), { band }).length === 0,
    )
  assert.deepEqual(met('band:medium'), ['medium', 'high'])
  assert.deepEqual(met('band:high'), ['high'])
})

test('a required passport needs the chip, and an optional one is never missing', () => {
  const tiers = [undefined, 'none', 'document', 'chip'].map((tier) => ({
    evidence: tier === undefined ? {} : { passport: { tier } },
  }))
  assert.deepEqual(
    tiers.map((bend) => missed({ passport: 'required' }, bend)),
    [['passport_chip'], ['passport_chip'], ['passport_chip'], []],
  )
  for (const bend of tiers) assert.deepEqual(missed({ passport: 'optional' }, bend), [])
})

test('fills in every setting that a workflow leaves open', () => {
  assert.deepEqual(policyOf(workflow), {
    require: [],
    passport: 'none',
    subject: 'optional',
    webauthn: 'any',
    unattested: 'known',
    formats: ['apple-app-attest', 'android-key', 'webauthn', 'software'],
    suspectDevices: 'refuse',
    sessionTtlMs: 300_000,
    challengeTtlMs: 60_000,
    bondedTtlMs: 120_000,
  })
})

test('keeps every setting that a workflow names, with times in milliseconds', () => {
  const named: Workflow = {
    ...workflow,
    require: ['carrier'],
    passport: 'optional',
    subject: 'required',
    webauthn: 'known',
    unattested: 'accept',
    formats: ['android-key'],
    suspect_devices: 'allow',
    min_key_age_seconds: 3_600,
    session_ttl_seconds: 60,
    challenge_ttl_seconds: 30,
    bonded_ttl_seconds: 300,
  }
  assert.deepEqual(policyOf(named), {
    require: ['carrier'],
    passport: 'optional',
    subject: 'required',
    webauthn: 'known',
    unattested: 'accept',
    formats: ['android-key'],
    suspectDevices: 'allow',
    minKeyAgeMs: 3_600_000,
    sessionTtlMs: 60_000,
    challengeTtlMs: 30_000,
    bondedTtlMs: 300_000,
  })
})

test('a workflow that requires the browser accepts every format, and asks no phone for the proof', () => {
  const require: Requirement[] = ['local_auth', 'browser']
  const all = ['apple-app-attest', 'android-key', 'webauthn', 'software']
  assert.deepEqual(policyOf({ ...workflow, require }).formats, all)
  assert.deepEqual(policyOf({ ...workflow, require, formats: ['webauthn'] }).formats, ['webauthn'])
  assert.deepEqual(missed({ require }), [])
  assert.deepEqual(missed({ require }, { localAuth: false }), ['local_auth'])
})
