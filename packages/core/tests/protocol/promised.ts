import type { SessionState } from '@bonded/contract'
import type { Call } from '../../src/protocol/facts.ts'
import type { Move, MOVES, STATES } from '../../src/protocol/states.ts'

/*
 * What docs/reference/protocol.md promises of the tables of `src/protocol`. Its source is the page,
 * never the tables, so that a row that is lost or moved fails a test. A number in a comment is a
 * section of the page.
 */

/** A check: the step in the timeline, and the reason of the rejection. */
type Row = `${string}:${string}`

/** A check, or a set of checks that exclude each other: one call fails at most one of them. */
export type Entry = Row | readonly Row[]

/** 5: an earlier nonce of the session, else an unknown one. */
const NONCE: readonly Row[] = ['nonce:challenge_expired', 'nonce:nonce_mismatch']

/** 6, "A device may serve a session", in the order of the list; the last one is of 15. */
const DEVICE: readonly Entry[] = [
  // A device has one status.
  ['device_blocked:device_not_usable', 'device_removed:device_not_usable'],
  'subject_blocked:device_not_usable',
  'subject_blocked_by_tenant:device_not_usable',
  'device_suspect:device_not_usable',
  'device_environment:device_not_usable',
  'device_format:key_format_not_accepted',
  'subject_ref:device_not_usable',
  'older_phone_active:device_not_usable',
  'too_many_failures:device_not_usable',
  'webauthn_unattested:key_not_attested',
  'key_age:key_too_new',
  'inbox_key_age:key_too_new',
]

/**
 * 5, the rows from `key_id` to the flags: one verification, which fails at one step. Its own order
 * is that of the verifier of the key's format. `assertion` is a failure at any other step.
 */
const VERIFIER: readonly Entry[] = [
  [
    'key_id:assertion_invalid',
    'client_data_json:assertion_invalid',
    'encoding:assertion_invalid',
    'app_not_configured:assertion_invalid',
    'client_data_hash:assertion_invalid',
    'public_key:assertion_invalid',
    'client_data:assertion_invalid',
    'client_data_type:assertion_invalid',
    'client_data_challenge:assertion_invalid',
    'client_data_origin:assertion_invalid',
    'client_data_cross_origin:assertion_invalid',
    'signature:assertion_invalid',
    'authenticator_data:assertion_invalid',
    'app_id:assertion_invalid',
    'validation_category:assertion_invalid',
    'bundle_version:assertion_invalid',
    'user_present:assertion_invalid',
    'user_verified:assertion_invalid',
    'backup_flags:assertion_invalid',
  ],
  'assertion:assertion_invalid',
]

/** 6: a request that a device signs about itself or its subject, and those of 15. */
const REQUEST: readonly Entry[] = [
  'device_state:device_not_usable',
  'issued_at:issued_at_out_of_range',
  ...VERIFIER,
  'counter:assertion_invalid',
]

/** The same, for what a phone may not do in the 72 hours after another one added it. */
const REQUEST_OF_OLDER_PHONE: readonly Entry[] = [
  'device_state:device_not_usable',
  'issued_at:issued_at_out_of_range',
  ...VERIFIER,
  'newly_added:key_too_new',
  'counter:assertion_invalid',
]

/** The checks of each call, in their order. */
export const PROMISED_CHECKS: Readonly<Record<Call, readonly Entry[]>> = {
  claim: [
    'suspended:tenant_suspended',
    'session_live:session_not_live',
    NONCE,
    ...DEVICE,
    'pinned:session_claimed',
    'shows:key_format_not_accepted',
    'browser_key:key_format_not_accepted',
  ],
  // 4: a user can decline while the tenant is suspended, and what the phone does not show.
  decline: ['session_live:session_not_live', NONCE, ...DEVICE, 'pinned:session_claimed'],
  // 7
  evidence: [
    'suspended:tenant_suspended',
    'session_live:session_not_live',
    NONCE,
    ...DEVICE,
    'pinned:session_claimed',
    'issued_at:issued_at_out_of_range',
    'local_auth:invalid_member',
    ...VERIFIER,
    'counter:assertion_invalid',
  ],
  // 5
  attest: [
    'suspended:tenant_suspended',
    'session_live:session_not_live',
    NONCE,
    ...DEVICE,
    'pinned:session_claimed',
    'shows:key_format_not_accepted',
    'browser_key:browser_key_required',
    'issued_at:issued_at_out_of_range',
    ...VERIFIER,
    'counter:assertion_invalid',
    'evidence_mac:assertion_invalid',
    'evidence_time:evidence_expired',
  ],
  // 3, Not found. The response to each is `session_not_found`. The list of an inbox (15) has the
  // same checks; only there failed attempts exclude a phone.
  read: [...DEVICE, 'pinned:session_claimed'],
  // 14. The response to the rules of the device is `browser_proof_invalid`, and that to the age of
  // the evidence `session_not_live`.
  browser: [
    'suspended:tenant_suspended',
    'approval_waits:session_not_live',
    ...DEVICE,
    'evidence_time:evidence_expired',
    // The page, its credential, and the encoding of the client data, before the verification.
    'origin:browser_proof_invalid',
    'credential:browser_proof_invalid',
    'client_data:browser_proof_invalid',
    [
      'credential:browser_proof_invalid',
      'encoding:browser_proof_invalid',
      'client_data_hash:browser_proof_invalid',
      'public_key:browser_proof_invalid',
      'client_data:browser_proof_invalid',
      'type:browser_proof_invalid',
      'challenge:browser_proof_invalid',
      'origin:browser_proof_invalid',
      'cross_origin:browser_proof_invalid',
      'signature:browser_proof_invalid',
      'authenticator_data:browser_proof_invalid',
      'rp_id:browser_proof_invalid',
      'user_present:browser_proof_invalid',
      'user_verified:browser_proof_invalid',
      'backup_flags:browser_proof_invalid',
    ],
    'assertion:browser_proof_invalid',
    'counter:browser_proof_invalid',
  ],
  // 6, Recovery
  recover: [
    'challenge:assertion_invalid',
    'unknown_key:assertion_invalid',
    'format:assertion_invalid',
    'device_state:assertion_invalid',
    ...VERIFIER,
    // Its use.
    'challenge:assertion_invalid',
    'counter:assertion_invalid',
  ],
  token: REQUEST,
  add: REQUEST_OF_OLDER_PHONE,
  remove: REQUEST_OF_OLDER_PHONE,
  inbox: REQUEST,
  resume: REQUEST_OF_OLDER_PHONE,
  push: REQUEST,
}

/** 4: the steps at which a failed attestation counts. */
export const COUNTING: readonly string[] = [
  'client_data_hash',
  'signature',
  'app_id',
  'evidence_mac',
]

/** 6, `suspect`: the steps at which a call may mark the device. */
export const SUSPECTING: Readonly<Record<Call, readonly string[]>> = {
  claim: [],
  decline: [],
  evidence: ['counter'],
  attest: ['counter'],
  read: [],
  browser: [],
  recover: ['counter'],
  token: ['counter'],
  add: ['counter'],
  remove: ['counter'],
  inbox: ['counter'],
  resume: ['counter'],
  push: ['counter'],
}

/** 5 and 6: the steps at which a call uses a counter or a challenge up, in their order. */
export const WRITING: Readonly<Record<Call, readonly string[]>> = {
  claim: [],
  decline: [],
  evidence: ['counter'],
  attest: ['counter'],
  read: [],
  browser: ['counter'],
  recover: ['challenge', 'counter'],
  token: ['counter'],
  add: ['counter'],
  remove: ['counter'],
  inbox: ['counter'],
  resume: ['counter'],
  push: ['counter'],
}

/** 4: what holds in each state. */
export const PROMISED_STATES: Readonly<
  Record<SessionState, { readonly [Rule in keyof (typeof STATES)['pending']]: unknown }>
> = {
  pending: { nonce: 'shown', evidence: true, bond: false },
  step_up_required: { nonce: 'step', evidence: true, bond: false },
  bonded: { nonce: 'none', evidence: false, bond: true },
  completed: { nonce: 'none', evidence: false, bond: true },
  killed: { nonce: 'none', evidence: false, bond: false },
  expired: { nonce: 'none', evidence: false, bond: false },
}

/** 4 */
export const FINAL: readonly SessionState[] = ['completed', 'killed', 'expired']

/** 4: the states in which the service keeps a late report, if the session was bonded. */
export const PROMISED_LATE_REPORT: readonly SessionState[] = ['expired']

/** The states in which a session waits for its phone or its browser. */
const WAITING: readonly SessionState[] = ['pending', 'step_up_required']
const LIVE: readonly SessionState[] = ['pending', 'step_up_required', 'bonded']

/** 4 and 14: every transition, and the `ended_reason` of the full view. */
export const PROMISED_MOVES: Readonly<Record<keyof typeof MOVES, Move>> = {
  bond: { from: WAITING, to: 'bonded' },
  // A further miss changes no state.
  stepUp: { from: ['pending'], to: 'step_up_required' },
  approve: { from: WAITING, to: 'step_up_required' },
  recall: { from: ['step_up_required'], to: 'step_up_required' },
  // Never the first of the valid assertions.
  failPolicy: { from: ['step_up_required'], to: 'killed', endedReason: 'policy_not_met' },
  failAttempts: { from: WAITING, to: 'killed', endedReason: 'too_many_attempts' },
  decline: { from: WAITING, to: 'killed', endedReason: 'user_declined' },
  declineUnexpected: { from: WAITING, to: 'killed', endedReason: 'user_unexpected' },
  // 16: an approval that is one of several can be taken back, with the reasons of a decline.
  takeBack: { from: ['bonded'], to: 'killed', endedReason: 'user_declined' },
  takeBackUnexpected: { from: ['bonded'], to: 'killed', endedReason: 'user_unexpected' },
  decide: { from: LIVE, to: 'killed', endedReason: 'decided' },
  cancel: { from: WAITING, to: 'killed', endedReason: 'canceled' },
  kill: { from: LIVE, to: 'killed', endedReason: 'killed_by_tenant' },
  killByOperator: { from: LIVE, to: 'killed', endedReason: 'killed_by_operator' },
  suspend: { from: WAITING, to: 'killed', endedReason: 'tenant_suspended' },
  expire: { from: LIVE, to: 'expired' },
  complete: { from: ['bonded'], to: 'completed' },
}
