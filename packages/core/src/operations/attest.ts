import {
  assertionPayload,
  type BondedPairAssertion,
  type BrowserKeyRegistration,
  canonicalJson,
  type SessionId,
  type VerifiedEvidence,
} from '@bonded/contract'
import {
  approve,
  approvedLeg,
  browserCredentialsOf,
  requiresBrowser,
} from '../domain/browser-leg.ts'
import { evidenceIsCurrent, summarizeVerification } from '../domain/evidence.ts'
import { instantOf } from '../domain/iso.ts'
import { MAX_VALID_ASSERTIONS } from '../domain/lifetimes.ts'
import { highestBandOf, isAttested, hasIndependentEvidence } from '../domain/key-rules.ts'
import {
  checkBrowserKey,
  checkIssuedAt,
  checkPhone,
  checkShown,
  type PhoneAttempt,
} from '../domain/phone-rules.ts'
import { unmetRequirements } from '../domain/policy.ts'
import { type BondProof, bondProof } from '../domain/receipts.ts'
import { accept, type Rejection, type Result, reject } from '../domain/rejection.ts'
import { score } from '../domain/scoring.ts'
import { type Device, type Session, stateAt } from '../domain/session.ts'
import { stepUpFor } from '../domain/step-up.ts'
import { MOVES } from '../domain/transitions.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'
import { bondSession } from './bond-session.ts'
import {
  type NewBrowserKey,
  rejectUndone,
  storeBrowserKey,
  verifyBrowserKey,
} from './browser-key.ts'
import { findAndExpireKeptSession } from './find-and-expire.ts'
import type { PhoneReading } from './read-session.ts'
import {
  endEvaluation,
  loadAndExpireAttempt,
  raiseCounterOrSuspect,
  recordNetworkDifference,
  rejectAndCount,
  rejectAndRecord,
} from './phone-attempt.ts'
import { type BackendCaller, evidenceContextOf, type PhoneCaller, type Service } from './service.ts'
import { verifyAssertion } from './verify-assertion.ts'

/**
 * Bonds a session to a phone by an assertion, with the checks in the order of protocol 5. A valid
 * assertion that misses the policy leads to a step-up instead.
 */
export async function attest(
  service: Service,
  caller: PhoneCaller | BackendCaller,
  { request, address }: { request: BondedPairAssertion; address: string },
): Promise<Result<PhoneReading>> {
  const id = request.session_id as SessionId

  // The device and the subject of the body must be those of the device token.
  const device = await deviceOf(service, caller, request)
  if (device?.id !== request.device_id) return reject('device_not_usable', { param: 'device_id' })
  if (device.subjectId !== request.subject_id)
    return reject('device_not_usable', { param: 'subject_id' })

  return service.store
    .write(function* (tables): Work<Result<PhoneReading>> {
      const now = service.clock.now()
      // The session must exist and, for a backend, be readable with its credential.
      if (caller.kind === 'backend') {
        const own = yield* findAndExpireKeptSession(service, tables, { id, key: caller.credential })
        if (!own.ok) return reject('session_not_live')
      }
      const attested = yield* checkAndMove(service, tables, { caller, request, device, address })
      if (!attested.ok) yield* endEvaluation(tables, { id, deviceId: device.id, now })
      return attested
    })
    .catch(rejectUndone)
}

/** Runs the checks in order, and moves the session if all of them pass. */
function* checkAndMove(
  service: Service,
  tables: Tables,
  input: {
    readonly caller: PhoneCaller | BackendCaller
    readonly request: BondedPairAssertion
    readonly device: Device
    readonly address: string
  },
): Work<Result<PhoneReading>> {
  const { caller, request, device, address } = input
  const { nonce } = request
  const id = request.session_id as SessionId
  const first = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
  if (first === undefined) return reject('session_not_live')

  const payload = rebuildPayload(service, first.session, request)
  const digest = service.keys.sha256(payload)
  const issuedAt = instantOf(request.issued_at)
  let raised = false
  // Each pass evaluates the stored data. A pass is repeated only if another call changed the
  // session in between.
  for (
    let attempt: PhoneAttempt | undefined = first;
    attempt !== undefined;
    attempt = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
  ) {
    const { session, tenant, now } = attempt
    // A replay of the bonding assertion gets its response before any check of time, so that a lost
    // response costs nothing.
    if (isReplay(session, { device, digest, now })) return accept({ session, tenant, nonce })

    // Live, nonce, device and issued_at; then signature and counter, which are checked once.
    const early = checkApproval(attempt, request)
    const verdict = early.ok ? checkIssuedAt(issuedAt, now) : early
    if (!verdict.ok) return yield* rejectAndRecord(tables, attempt, verdict.rejection)
    const verified = verifyAssertion(service, { device, payload, appAttest: request.app_attest })
    if (!verified.ok) return yield* rejectAndCount(tables, attempt, verified.rejection)
    // Lock order: the device's row, then the session's. The counter stays raised whatever
    // follows.
    if (!raised) {
      const { counter } = verified.value
      const counted = yield* raiseCounterOrSuspect(tables, attempt, { counter, issuedAt })
      if (!counted.ok) return counted
      raised = true
    }
    const moved = yield* moveByEvidence(service, tables, {
      attempt,
      evidence: request.verified_evidence,
      browserKey: request.browser_key,
      userVerified: verified.value.userVerified,
      digest,
      proof: service.receiptSigner && bondProof(device, { payload, assertion: request.app_attest }),
    })
    if (moved === undefined) continue
    if (!moved.ok) return moved
    // Backends that relay an assertion call from their own network, which says nothing about the
    // phone.
    if (caller.kind === 'phone') yield* recordNetworkDifference(tables, attempt, address)
    return accept({ session: moved.value, tenant, nonce })
  }
  return reject('session_not_live')
}

function checkApproval(attempt: PhoneAttempt, request: BondedPairAssertion): Result<void> {
  const early = checkPhone(attempt)
  const shown = early.ok ? checkShown(attempt, request.shows ?? []) : early
  return shown.ok ? checkBrowserKey(attempt, request.browser_key !== undefined) : shown
}

interface Valid {
  readonly attempt: PhoneAttempt
  readonly evidence: VerifiedEvidence
  /** The browser key that the assertion covers, if it has one. */
  readonly browserKey: BrowserKeyRegistration | undefined
  /** Whether the authenticator reports that it verified the user. */
  readonly userVerified: boolean
  readonly digest: string
  /** What a receipt shows; undefined where the service makes none. */
  readonly proof: BondProof | undefined
}

/**
 * Checks evidence and policy, and moves the session. Undefined if another call moved it in between.
 */
function* moveByEvidence(
  service: Service,
  tables: Tables,
  valid: Valid,
): Work<Result<Session> | undefined> {
  const { attempt, evidence, digest, proof } = valid
  const { session, device, nonce, now } = attempt
  const doubt = checkEvidence(service, attempt, evidence)
  if (doubt !== undefined) return yield* rejectAndCount(tables, attempt, doubt)

  const facts = scoredFacts(valid)
  const unmet = unmetRequirements(session.policy, { ...facts, scores: score(facts) })
  if (unmet.length > 0)
    // An approval that waits for the browser stays as it is, unless a fresh one replaces it.
    return approvedLeg(session) === undefined
      ? yield* missPolicy(tables, valid, unmet)
      : accept(session)

  const brought = newBrowserKey(service, valid)
  if (!brought.ok) return yield* rejectAndRecord(tables, attempt, brought.rejection)
  const verification = summarizeVerification(facts, attempt.continuity)
  const pinned = {
    deviceId: device.id,
    nonce,
    bondDigest: digest,
    ...(proof && { bondProof: proof }),
  }
  if (!requiresBrowser(session.policy)) {
    const set = { ...pinned, validAssertions: session.validAssertions + 1 }
    const bonded = yield* bondSession(tables, attempt, { verification, set })
    if (bonded !== undefined) yield* storeBrowserKey(tables, device, brought.value)
    return bonded && accept(bonded)
  }
  const browserKey = brought.value?.key ?? device.browserKey
  const credentials = browserCredentialsOf({ ...device, browserKey })
  if (credentials === undefined) return reject('browser_key_required')
  const evidenceIssuedAt = instantOf(evidence.issued_at)
  const leg = approve(session, { credentials, evidenceIssuedAt, verification, now })
  const set = { ...pinned, ...leg }
  const approved = yield* tables.sessions.move(session, MOVES.approve, { now, set })
  if (approved !== undefined) yield* storeBrowserKey(tables, device, brought.value)
  return approved && accept(approved)
}

function newBrowserKey(service: Service, { browserKey }: Valid): Result<NewBrowserKey | undefined> {
  return browserKey === undefined ? accept(undefined) : verifyBrowserKey(service, browserKey)
}

/** What the scores and the policy look at. */
function scoredFacts({ attempt, evidence, userVerified }: Valid) {
  const byFlag = attempt.device.format === 'webauthn' && userVerified
  return {
    evidence,
    localAuth: byFlag || evidence.local_auth.result === 'verified',
    method: byFlag ? ('passkey' as const) : evidence.local_auth.method,
    attested: isAttested(attempt.device),
    highestBand: highestBandOf(attempt, hasIndependentEvidence(evidence)),
  }
}

/** Asks for a step-up, or ends the session at its last valid assertion. */
function* missPolicy(
  tables: Tables,
  { attempt, evidence }: Valid,
  unmet: ReturnType<typeof unmetRequirements>,
): Work<Result<Session> | undefined> {
  const { session, device, nonce, now } = attempt
  const validAssertions = session.validAssertions + 1
  const pinned = { deviceId: device.id, nonce, validAssertions }
  const note = {
    at: now,
    kind: 'note',
    reason: 'policy_not_met',
    step: unmet.join(' '),
    subjectRef: attempt.knownAs,
  }
  if (validAssertions >= MAX_VALID_ASSERTIONS) {
    const ended = yield* tables.sessions.move(session, MOVES.failPolicy, { now, set: pinned })
    if (ended === undefined) return undefined
    yield* tables.sessions.note(session.id, note)
    return reject('policy_not_met', { step: 'policy' })
  }
  const stepUp = stepUpFor(unmet, { evidence, validAssertions })
  const stepped =
    session.state === 'pending'
      ? yield* tables.sessions.move(session, MOVES.stepUp, { now, set: { ...pinned, stepUp } })
      : yield* tables.sessions.countMiss(session, { now, stepUp })
  if (stepped === undefined) return undefined
  yield* tables.sessions.note(session.id, note)
  return accept(stepped)
}

function checkEvidence(
  { keys }: Service,
  { session, device, nonce, now }: PhoneAttempt,
  evidence: VerifiedEvidence,
): Rejection | undefined {
  const mac =
    keys.holds(evidence.kid) &&
    keys.evidenceMac(evidence.kid, evidenceContextOf(session, device, nonce), evidence)
  if (!mac || !keys.same(mac, evidence.signature))
    return { reason: 'assertion_invalid', step: 'evidence_mac' }
  return evidenceIsCurrent(evidence, now)
    ? undefined
    : { reason: 'evidence_expired', step: 'evidence_time' }
}

function rebuildPayload(service: Service, session: Session, request: BondedPairAssertion): string {
  const { session_id, nonce, device_id, subject_id, issued_at, verified_evidence } = request
  const { tenantId, workflow, action, context } = session
  return assertionPayload({
    session_id,
    nonce,
    device_id,
    subject_id,
    issued_at,
    tenant_id: tenantId,
    workflow,
    action,
    origin: service.settings.publicOrigin,
    context: context && service.keys.sha256(canonicalJson(context)),
    evidence: service.keys.sha256(canonicalJson(verified_evidence)),
    browser_key: request.browser_key && service.keys.sha256(canonicalJson(request.browser_key)),
  })
}

/** ECDSA signatures are malleable, so the signed payload identifies a replay, not the signature. */
function isReplay(
  session: Session,
  { device, digest, now }: { device: Device; digest: string; now: number },
): boolean {
  const state = stateAt(session, now)
  return (
    (state === 'bonded' || state === 'completed' || state === 'step_up_required') &&
    session.deviceId === device.id &&
    session.bondDigest === digest
  )
}

async function deviceOf(
  service: Service,
  caller: PhoneCaller | BackendCaller,
  request: BondedPairAssertion,
): Promise<Device | undefined> {
  if (caller.kind === 'phone') return caller.device
  return service.store.read((tables) => tables.devices.find(request.device_id as Device['id']))
}
