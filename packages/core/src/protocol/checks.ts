import { type Reason, wordsToShow } from '@bonded/contract'
import { waitingApproval, requiresBrowser } from '../domain/browser-proof.ts'
import { isInbox, servesInboxFrom } from '../domain/inbox.ts'
import { acceptsKey, isAttested } from '../domain/key-rules.ts'
import {
  ISSUED_AT_MAX_AGE_MS,
  ISSUED_AT_MAX_AHEAD_MS,
  MAX_FAILED_ASSERTIONS,
} from '../domain/lifetimes.ts'
import type { Rejection } from '../domain/rejection.ts'
import { isNewlyAdded, isUsable, mayAddPhone, mayManageKeys } from '../domain/subject-keys.ts'
import type { Work } from '../ports/work.ts'
import type { Call, CallFacts } from './facts.ts'
import { awaitsPhone, isSuspended, takesNo } from './states.ts'

/** The step of a local authentication with a wrong time, which the timeline may note alone. */
export const LOCAL_AUTH = 'local_auth'

/** One check of the protocol, in the calls that it belongs to. */
export interface Check<S extends string = Step> {
  /** The name of the check in the timeline. A response to a phone or a browser never has it. */
  readonly step: S
  /** Why the call is rejected, for the caller. */
  readonly reason: Reason
  readonly calls: readonly Call[]
  /** Whether the call fails this check. A check that returns work also writes. */
  readonly fails: (facts: never) => boolean | Work<boolean>
  /** Whether a failure counts towards the five of a device on a session: only forgers fail it. */
  readonly counts: boolean
  /** Whether a failure may show that two phones hold one key (protocol 6, `suspect`). */
  readonly suspects: boolean
  /** What the rejection says in addition to the reason. */
  readonly says: (facts: never) => Omit<Rejection, 'reason' | 'step'>
}

type Further<F> = Partial<Pick<Check<string>, 'counts' | 'suspects'>> & {
  readonly says?: (facts: F) => Omit<Rejection, 'reason' | 'step'>
}

/** Makes the rows of a group of calls. */
function rowsOf<C extends Call>(...calls: readonly C[]) {
  return <const S extends string>(
    step: S,
    reason: Reason,
    fails: (facts: CallFacts[C]) => boolean | Work<boolean>,
    { counts = false, suspects = false, says = () => ({}) }: Further<CallFacts[C]> = {},
  ): Check<S> => ({ step, reason, calls, fails, counts, suspects, says })
}

/** The calls of a phone on a session. */
const phone = rowsOf('claim', 'decline', 'evidence', 'attest')
/** The same, and a phone that reads the session: each failure is then `session_not_found`. */
const holding = rowsOf('claim', 'decline', 'evidence', 'attest', 'read')
/** The same, and the proof of the browser, which relies on the phone that approved. */
const serving = rowsOf('claim', 'decline', 'evidence', 'attest', 'read', 'browser')
/** The calls on the way to a bond, which a suspended tenant does not get. */
const asking = rowsOf('claim', 'evidence', 'attest')
/** The calls that ask the user to approve. */
const claim = rowsOf('claim')
/** The user says no. */
const decline = rowsOf('decline')
const claimOrAttest = rowsOf('claim', 'attest')
const attest = rowsOf('attest')
const evidence = rowsOf('evidence')
/** The calls that a key signs, at a time that the caller states. */
const TIMED = ['evidence', 'attest', 'token', 'add', 'remove', 'inbox', 'resume', 'push'] as const
const timed = rowsOf(...TIMED)
/** The same, and the recovery of a device, which signs a challenge. */
const signed = rowsOf(...TIMED, 'recover')
/** The proof of the browser. */
const browser = rowsOf('browser')
/** The requests of a device about itself or its subject. */
const recover = rowsOf('recover')
const token = rowsOf('token')
const add = rowsOf('add')
const remove = rowsOf('remove')
const inbox = rowsOf('inbox', 'push')
const resume = rowsOf('resume')

/**
 * Every check of the protocol, in its order (protocol 5, 6, 7 and 14). A call runs the rows that
 * name it, from the first to the last. The first that fails is its answer. No later one has run.
 *
 * Where the order protects something, a comment says what. Other rows exclude each other, or only
 * say which of two faults is reported.
 */
export const CHECKS = [
  // First, because the suspension has ended the session. A phone without the latest
  // code learns nothing of it.
  asking('suspended', 'tenant_suspended', (f) => isSuspended(f) && f.isLatestNonce()),
  browser('suspended', 'tenant_suspended', isSuspended),
  // An ended session tells nothing about nonces and phones. Whose time has passed has ended before.
  asking('session_live', 'session_not_live', (f) => !awaitsPhone(f.session, f.now)),
  decline('session_live', 'session_not_live', (f) => !takesNo(f.session, f.now)),
  browser('approval_waits', 'session_not_live', (f) => !waitingApproval(f.session)),

  // Before every rule about the device: a phone without a current code learns neither which formats
  // the session accepts nor whether it names another user.
  phone('nonce', 'challenge_expired', (f) => f.nonceStanding() === 'earlier'),
  phone('nonce', 'nonce_mismatch', (f) => f.nonceStanding() === 'unknown'),

  // First: a challenge authenticates itself, so that a caller without one costs no lookup.
  recover('challenge', 'assertion_invalid', (f) => !(f.now < (f.challengeExpiresAt ?? 0))),
  recover('unknown_key', 'assertion_invalid', (f) => !f.device),
  // An app's key signs with a counter that is in the record that its phone has lost.
  recover('format', 'assertion_invalid', (f) => f.device?.format !== 'webauthn'),
  recover('device_state', 'assertion_invalid', (f) => !f.device || !mayManageKeys(f.device)),
  token('device_state', 'device_not_usable', (f) => !isUsable(f.device)),
  add('device_state', 'device_not_usable', (f) => !mayManageKeys(f.device)),
  inbox('device_state', 'device_not_usable', (f) => !isUsable(f.device)),
  resume('device_state', 'device_not_usable', (f) => !mayManageKeys(f.device)),
  // A suspect device may be a copy: it may remove itself, and no other.
  remove('device_state', 'device_not_usable', (f) =>
    f.isItself ? !isUsable(f.device) : !mayManageKeys(f.device),
  ),

  // Whether the device may serve the session (protocol 6). Once more with the browser's proof,
  // because the phone may have been removed since it approved.
  serving('device_blocked', 'device_not_usable', (f) => f.device.status === 'blocked'),
  serving('device_removed', 'device_not_usable', (f) => f.device.status === 'removed'),
  serving('subject_blocked', 'device_not_usable', (f) => f.device.subjectBlocked === true),
  serving('subject_blocked_by_tenant', 'device_not_usable', (f) => f.subjectBlockedHere),
  serving('device_suspect', 'device_not_usable', ({ device, session }) =>
    device.status === 'suspect' ? session.policy.suspectDevices === 'refuse' : false,
  ),
  // A software key proves nothing to a production tenant.
  serving('device_environment', 'device_not_usable', ({ device, tenant }) =>
    tenant.environment === 'production' ? device.environment === 'sandbox' : false,
  ),
  serving(
    'device_format',
    'key_format_not_accepted',
    (f) => !acceptedFormats(f).includes(f.device.format),
    {
      says: (f) => ({ detail: `It accepts ${acceptedFormats(f).join(', ')}.` }),
    },
  ),
  serving(
    'subject_ref',
    'device_not_usable',
    (f) => (f.session.wantedSubjectRef ?? f.subjectRef) !== f.subjectRef,
  ),
  serving('older_phone_active', 'device_not_usable', (f) => f.olderPhone),
  serving('too_many_failures', 'device_not_usable', (f) => f.failures >= MAX_FAILED_ASSERTIONS),
  serving('webauthn_unattested', 'key_not_attested', (f) => !acceptsKey(f)),
  serving('key_age', 'key_too_new', isTooNew),
  // A phone that an attacker adds, or registers first, approves nothing that waits already.
  serving(
    'inbox_key_age',
    'key_too_new',
    ({ session, device }) => isInbox(session) && session.createdAt < servesInboxFrom(device),
  ),
  // The proof of the browser names no phone: its device is the one of the session.
  holding('pinned', 'session_claimed', (f) => (f.session.deviceId ?? f.device.id) !== f.device.id),

  // Whether the phone can do what the user is about to be asked for. A claim is rejected with a
  // reason that apps know which are older than the check.
  claimOrAttest('shows', 'key_format_not_accepted', (f) => unshown(f).length > 0, {
    says: (f) => ({
      param: 'shows',
      detail: `This app does not show all of it (${unshown(f).join(', ')}). Update the app, or open the link instead.`,
    }),
  }),
  claim('browser_key', 'key_format_not_accepted', cannotAnswerInBrowser, {
    says: () => ({
      param: 'browser_key',
      detail: 'It needs a passkey for the browser too. Register one, or open the link instead.',
    }),
  }),
  attest('browser_key', 'browser_key_required', cannotAnswerInBrowser),

  timed('issued_at', 'issued_at_out_of_range', (f) => !isNear(f.issuedAt, f.now), {
    // So that the phone can sign again.
    says: ({ now }) => ({ param: 'issued_at', serverTime: now }),
  }),
  // A verification in the future is a defect of the app, which a failed one would hide.
  evidence(LOCAL_AUTH, 'invalid_member', (f) => f.localAuthIsAhead, {
    says: () => ({
      param: 'signals.local_auth.verified_at',
      detail: 'It is at most 30 s after issued_at.',
    }),
  }),

  // The checks of the verifier of the key's format. An assertion fails at one of them, in the
  // verifier's order: their order here decides nothing. The last one rejects what none names.
  signed('key_id', 'assertion_invalid', failsAt('key_id')),
  signed('client_data_json', 'assertion_invalid', failsAt('client_data_json')),
  signed('encoding', 'assertion_invalid', failsAt('encoding')),
  signed('app_not_configured', 'assertion_invalid', failsAt('app_not_configured')),
  signed('client_data_hash', 'assertion_invalid', failsAt('client_data_hash'), { counts: true }),
  signed('public_key', 'assertion_invalid', failsAt('public_key')),
  signed('client_data', 'assertion_invalid', failsAt('client_data')),
  signed('client_data_type', 'assertion_invalid', failsAt('client_data_type')),
  signed('client_data_challenge', 'assertion_invalid', failsAt('client_data_challenge')),
  signed('client_data_origin', 'assertion_invalid', failsAt('client_data_origin')),
  signed('client_data_cross_origin', 'assertion_invalid', failsAt('client_data_cross_origin')),
  signed('signature', 'assertion_invalid', failsAt('signature'), { counts: true }),
  signed('authenticator_data', 'assertion_invalid', failsAt('authenticator_data')),
  signed('app_id', 'assertion_invalid', failsAt('app_id'), { counts: true }),
  signed('validation_category', 'assertion_invalid', failsAt('validation_category')),
  signed('bundle_version', 'assertion_invalid', failsAt('bundle_version')),
  signed('user_present', 'assertion_invalid', failsAt('user_present')),
  signed('user_verified', 'assertion_invalid', failsAt('user_verified')),
  signed('backup_flags', 'assertion_invalid', failsAt('backup_flags')),
  signed('assertion', 'assertion_invalid', (f) => !f.assertion().ok),

  // Evidence that is too old to bond ends the approval, and says nothing about the proof.
  browser(
    'evidence_time',
    'evidence_expired',
    (f) => f.now >= (waitingApproval(f.session)?.evidenceUntil ?? 0),
  ),
  browser('origin', 'browser_proof_invalid', (f) => !f.pageMayProve),
  browser('credential', 'browser_proof_invalid', (f) => !f.isItsCredential),
  browser('client_data', 'browser_proof_invalid', (f) => !f.clientDataIsText),
  // The same checks of the verifier, which the timeline of a browser's proof names in short.
  browser('credential', 'browser_proof_invalid', failsAt('key_id')),
  browser('encoding', 'browser_proof_invalid', failsAt('encoding')),
  browser('client_data_hash', 'browser_proof_invalid', failsAt('client_data_hash')),
  browser('public_key', 'browser_proof_invalid', failsAt('public_key')),
  browser('client_data', 'browser_proof_invalid', failsAt('client_data')),
  browser('type', 'browser_proof_invalid', failsAt('client_data_type')),
  browser('challenge', 'browser_proof_invalid', failsAt('client_data_challenge')),
  browser('origin', 'browser_proof_invalid', failsAt('client_data_origin')),
  browser('cross_origin', 'browser_proof_invalid', failsAt('client_data_cross_origin')),
  browser('signature', 'browser_proof_invalid', failsAt('signature')),
  browser('authenticator_data', 'browser_proof_invalid', failsAt('authenticator_data')),
  browser('rp_id', 'browser_proof_invalid', failsAt('app_id')),
  browser('user_present', 'browser_proof_invalid', failsAt('user_present')),
  browser('user_verified', 'browser_proof_invalid', failsAt('user_verified')),
  browser('backup_flags', 'browser_proof_invalid', failsAt('backup_flags')),
  browser('assertion', 'browser_proof_invalid', (f) => !f.assertion().ok),

  // A phone that a user was deceived into adding adds none, and removes none but itself, until the
  // user has had time to notice it.
  add('newly_added', 'key_too_new', (f) => !mayAddPhone(f.device, f.now)),
  remove('newly_added', 'key_too_new', (f) => !f.isItself && isNewlyAdded(f.device, f.now)),
  resume('newly_added', 'key_too_new', (f) => isNewlyAdded(f.device, f.now)),

  // Before the counter: a repeated request must not look like a copied key.
  recover('challenge', 'assertion_invalid', (f) => not(f.useChallenge())),
  // After the signature: only the phone itself can move its counter.
  signed('counter', 'assertion_invalid', (f) => not(f.raiseCounter()), { suspects: true }),
  browser('counter', 'browser_proof_invalid', (f) => not(f.raiseCounter())),

  // After the signature: only the phone itself learns about its evidence.
  attest('evidence_mac', 'assertion_invalid', (f) => !f.evidenceIsOurs(), { counts: true }),
  // After the MAC: the times of a summary count only where the service wrote them.
  attest('evidence_time', 'evidence_expired', (f) => !f.evidenceIsCurrent),
] as const

/** What the timeline names. */
export type Step = (typeof CHECKS)[number]['step']

type Serving = CallFacts['claim' | 'decline' | 'evidence' | 'attest' | 'read' | 'browser']

function acceptedFormats({ session }: Serving): readonly string[] {
  return session.policy.formats
}

/**
 * Whether the key is younger than the workflow requires. Where the browser must prove itself, a
 * phone that another one added waits: a relayed approval of a further phone would otherwise be as
 * good as a relayed bond.
 */
function isTooNew({ session, device, now }: Serving): boolean {
  const { minKeyAgeMs = 0 } = session.policy
  const waits = requiresBrowser(session.policy) && isNewlyAdded(device, now)
  return waits || now - device.createdAt < minKeyAgeMs
}

/**
 * What the context needs that the phone does not say it shows. One that does not isolate a value
 * with directional marks can show its neighbors in another order, and an older one signs a
 * requester and a text that it does not show.
 */
function unshown({ session, shows }: CallFacts['claim' | 'attest']): readonly string[] {
  return wordsToShow(session.context).filter((needed) => !shows.includes(needed))
}

/**
 * Whether the phone has no key that can answer in the browser, where the workflow requires one.
 * Otherwise the user would approve in vain. Authenticators of phones attest only keys that are not
 * discoverable, so other devices may be unable to use them.
 */
function cannotAnswerInBrowser(f: CallFacts['claim' | 'attest']): boolean {
  const { session, device, bringsBrowserKey } = f
  const isDiscoverable = device.format === 'webauthn' && !isAttested(device)
  const isReady = device.browserKey !== undefined || isDiscoverable
  return requiresBrowser(session.policy) && !bringsBrowserKey && !isReady
}

function isNear(issuedAt: number, now: number): boolean {
  return issuedAt >= now - ISSUED_AT_MAX_AGE_MS && issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS
}

/** Whether the verifier of the key's format rejects the assertion at this step of its own. */
function failsAt(theirs: string) {
  return ({ assertion }: Pick<CallFacts['attest'], 'assertion'>): boolean => {
    const verified = assertion()
    return !verified.ok && verified.rejection.step === theirs
  }
}

function not(held: boolean | Work<boolean>): boolean | Work<boolean> {
  return typeof held === 'boolean' ? !held : negated(held)
}

function* negated(work: Work<boolean>): Work<boolean> {
  return !(yield* work)
}
