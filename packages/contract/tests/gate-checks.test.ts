import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type FullSession,
  type GateFacts,
  judgeSubmit,
  type PulseVerification,
} from '../src/index.ts'

const NOW = Date.parse('2026-11-21T09:30:00.000Z')
const ID = `sess_${'a'.repeat(22)}`
const verification: PulseVerification = {
  device_possession: true,
  key_attested: true,
  local_auth: 'verified',
  assertion_confidence: 0.7,
  human_presence_confidence: 0.7,
  assertion_band: 'medium',
  continuity_score_long_lived: 0.7,
  carrier: { number_verified: false, sim_swap_recent: false, device_status: 'unknown' },
  sensor_continuity: { motion_present: true, continuity_score: 0.7 },
}
const session = {
  id: ID,
  state: 'bonded',
  tenant_id: `ten_${'t'.repeat(22)}`,
  workflow: 'credit_application',
  action: 'submit_application',
  expires_at: '2026-11-21T09:31:00.000Z',
  verification,
  context: { display: [], digest: 'd' },
  subject_ref: 'ref',
} as unknown as FullSession
const purpose = { workflow: 'credit_application', action: 'submit_application' }
const expected = { ...purpose, context_digest: 'd' }
const OWNER = 'login-1'
const pending = { ...purpose, owner: OWNER }
const good: GateFacts = { session_id: ID, owner: OWNER, pending, session, expected, now: NOW }
/** A submit without a digest, of a session with a digest, without one, and without a context. */
const bound: GateFacts = { ...good, expected: purpose }
const unbound: GateFacts = { ...bound, session: { ...session, context: { display: [] } } }
const bare: GateFacts = { ...bound, session: { ...session, context: null } }
const ownedBy = (owner: unknown): GateFacts => ({
  ...good,
  owner: owner as string,
  pending: { ...pending, owner: owner as string },
})
const proved = (change: object): GateFacts => ({
  ...good,
  session: { ...session, verification: { ...verification, ...change } },
})

test('accepts a fresh bonded session of the tenant with sufficient proof', () => {
  assert.deepEqual(judgeSubmit(good), { decision: 'accept', reasons: [] })
})

const several = { display: [], digest: 'd', quorum: { id: 'quo_1', needed: 2, of: 2 } }

const rejected: [string, GateFacts, string][] = [
  [
    'an approval that is one of several',
    { ...good, session: { ...session, context: several } },
    'one_of_several',
  ],
  [
    'one of several without its verification',
    { ...good, session: { ...session, context: several, verification: null } },
    'one_of_several',
  ],
  [
    'one of several where any context is accepted',
    {
      ...good,
      session: { ...session, context: several },
      expected: { ...purpose, acceptAnyContext: true },
    },
    'one_of_several',
  ],
  ['a submit without a session id', { ...good, session_id: undefined }, 'session_missing'],
  ['an empty session id', { ...good, session_id: '' }, 'session_missing'],
  ['a session the service does not know', { ...good, session: undefined }, 'session_unavailable'],
  [
    'an answer about another session',
    { ...good, session: { ...session, id: `sess_${'b'.repeat(22)}` as never } },
    'session_unavailable',
  ],
  ...(['pending', 'step_up_required', 'completed', 'killed', 'expired'] as const).map(
    (state): [string, GateFacts, string] => [
      `a session in state ${state}`,
      { ...good, session: { ...session, state } },
      'session_not_bonded',
    ],
  ),
  [
    'an unknown state',
    { ...good, session: { ...session, state: 'super_bonded' as never } },
    'session_not_bonded',
  ],
  [
    'another tenant’s session',
    { ...good, expected: { ...expected, tenant_id: 'ten_x' } },
    'tenant_mismatch',
  ],
  ['another workflow', { ...good, session: { ...session, workflow: 'x' } }, 'workflow_mismatch'],
  ['another action', { ...good, session: { ...session, action: null } }, 'action_mismatch'],
  ['a session at its expiry', { ...good, now: Date.parse(session.expires_at) }, 'session_expired'],
  [
    'a session without a readable expiry',
    { ...good, session: { ...session, expires_at: 'soon' } },
    'session_expired',
  ],
  ['a session not in our store', { ...good, pending: undefined }, 'session_not_ours'],
  [
    'a row of another action',
    { ...good, pending: { ...pending, action: 'x' } },
    'session_not_ours',
  ],
  ['a row of another owner', { ...good, owner: 'login-2' }, 'session_not_ours'],
  ['a submit without an owner', ownedBy(undefined), 'session_not_ours'],
  ['a submit with an empty owner', ownedBy(''), 'session_not_ours'],
  ['a submit whose owner is not a string', ownedBy(7), 'session_not_ours'],
  [
    'no verification',
    { ...good, session: { ...session, verification: null } },
    'verification_missing',
  ],
  ['no possession', proved({ device_possession: false }), 'device_not_possessed'],
  [
    'possession that is not a boolean',
    proved({ device_possession: 'true' }),
    'device_not_possessed',
  ],
  ['failed local auth', proved({ local_auth: 'failed' }), 'local_auth_not_verified'],
  [
    'no passport where one is required',
    { ...good, expected: { ...expected, passport: 'required' } },
    'passport_chip_missing',
  ],
  [
    'a passport without its chip where one is required',
    {
      ...proved({ passport: { tier: 'document' } }),
      expected: { ...expected, passport: 'required' },
    },
    'passport_chip_missing',
  ],
  [
    'a form other than the one approved',
    { ...bound, expected: { ...expected, context_digest: 'e' } },
    'context_mismatch',
  ],
  ['a bound session without a recomputed digest', bound, 'context_missing'],
  ['a session with a context but no digest', unbound, 'context_missing'],
  ['a session without a context', bare, 'context_missing'],
  [
    'a session with a context but no digest, where a digest was expected',
    { ...unbound, expected },
    'context_missing',
  ],
  [
    'a session without a context, where a digest was expected',
    { ...bare, expected },
    'context_missing',
  ],
  [
    'an opt-out that is not exactly true',
    { ...unbound, expected: { ...purpose, acceptAnyContext: 'yes' as never } },
    'context_missing',
  ],
  [
    'a form other than the one approved, in spite of the opt-out',
    { ...bound, expected: { ...purpose, context_digest: 'e', acceptAnyContext: true } },
    'context_mismatch',
  ],
  [
    'a session without a digest where one was expected, in spite of the opt-out',
    { ...bare, expected: { ...expected, acceptAnyContext: true } },
    'context_missing',
  ],
  [
    'a subject other than the expected one',
    { ...good, expected: { ...expected, subject_ref: 'other' } },
    'subject_mismatch',
  ],
]
for (const [what, facts, reason] of rejected) {
  test(`${what} is rejected`, () => {
    assert.deepEqual(judgeSubmit(facts), { decision: 'reject', reasons: [reason] })
  })
}

for (const [what, facts] of Object.entries({ bound, unbound, bare })) {
  test(`acceptAnyContext accepts a ${what} session without a digest`, () => {
    const verdict = judgeSubmit({ ...facts, expected: { ...purpose, acceptAnyContext: true } })
    assert.equal(verdict.decision, 'accept')
  })
}

const reviewed: [string, object, string[]][] = [
  ['presence confidence below 0.55', { human_presence_confidence: 0.5499 }, ['low_confidence']],
  [
    'a confidence that is not a number',
    { human_presence_confidence: Number.NaN },
    ['low_confidence'],
  ],
  ['a confidence that is a text', { human_presence_confidence: '0.9' }, ['low_confidence']],
  [
    'a SIM swap that is not a boolean',
    { carrier: { ...verification.carrier, sim_swap_recent: 'false' } },
    ['sim_swap_recent'],
  ],
  [
    'continuity that is not a number',
    { sensor_continuity: { motion_present: true, continuity_score: true } },
    ['low_continuity'],
  ],
  [
    'no confidence at all',
    { human_presence_confidence: undefined, assertion_confidence: undefined },
    ['low_confidence'],
  ],
  [
    'a recent SIM swap',
    { carrier: { ...verification.carrier, sim_swap_recent: true } },
    ['sim_swap_recent'],
  ],
  [
    'continuity below 0.6',
    { sensor_continuity: { motion_present: true, continuity_score: 0.5999 } },
    ['low_continuity'],
  ],
  ['no sensor continuity', { sensor_continuity: undefined }, ['low_continuity']],
]
for (const [what, change, reasons] of reviewed) {
  test(`sends ${what} to review`, () => {
    assert.deepEqual(judgeSubmit(proved(change)), { decision: 'review', reasons })
  })
}

test('scores of exactly 0.55 and 0.6 meet the thresholds', () => {
  assert.equal(
    judgeSubmit(
      proved({
        human_presence_confidence: 0.55,
        sensor_continuity: { motion_present: true, continuity_score: 0.6 },
      }),
    ).decision,
    'accept',
  )
})

test('uses the assertion confidence only without a presence confidence', () => {
  assert.equal(
    judgeSubmit(proved({ human_presence_confidence: undefined, assertion_confidence: 0.6 }))
      .decision,
    'accept',
  )
  assert.equal(
    judgeSubmit(proved({ human_presence_confidence: 0.5, assertion_confidence: 0.9 })).decision,
    'review',
  )
})
