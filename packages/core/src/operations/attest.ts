import {
  assertionPayload,
  type BondedPairAssertion,
  canonicalJson,
  type SessionId,
} from '@bonded/contract'
import { approve, approvedLeg, requiresBrowser } from '../domain/browser-leg.ts'
import { evidenceIsCurrent, summarizeVerification } from '../domain/evidence.ts'
import { instantOf } from '../domain/iso.ts'
import { MAX_VALID_ASSERTIONS } from '../domain/lifetimes.ts'
import { highestBandOf, isAttested, hasIndependentEvidence } from '../domain/key-rules.ts'
import { checkIssuedAt, checkPhone, type PhoneAttempt } from '../domain/phone-rules.ts'
import { unmetRequirements } from '../domain/policy.ts'
import { accept, type Rejection, type Result, reject } from '../domain/rejection.ts'
import { score } from '../domain/scoring.ts'
import { type Device, type Session, stateAt } from '../domain/session.ts'
import { stepUpFor } from '../domain/step-up.ts'
import { MOVES } from '../domain/transitions.ts'
import type { VerifiedAssertion } from '../ports/devices.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'
import { findKeptSession } from './find-session.ts'
import type { PhoneReading } from './read-session.ts'
import {
  endEvaluation,
  loadAttempt,
  penalizeInvalidAssertion,
  recordNetworkDifference,
  raiseCounterOrSuspect,
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

  return service.store.write(function* (tables): Work<Result<PhoneReading>> {
    const now = service.clock.now()
    // The session must exist and, for a backend, be readable with its credential.
    if (caller.kind === 'backend') {
      const own = yield* findKeptSession(service, tables, { id, key: caller.credential })
      if (!own.ok) return reject('session_not_live')
    }
    const attested = yield* judge(service, tables, { caller, request, device, address })
    if (!attested.ok) yield* endEvaluation(tables, { id, deviceId: device.id, now })
    return attested
  })
}

/** Runs the checks in order, and moves the session if all of them pass. */
function* judge(
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
  const first = yield* loadAttempt(service, tables, { id, device, nonce })
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
    attempt = yield* loadAttempt(service, tables, { id, device, nonce })
  ) {
    const { session, tenant } = attempt
    const { now } = attempt
    // A replay of the bonding assertion gets its response before any check of time, so that a lost
    // response costs nothing.
    if (isReplay(session, { device, digest, now })) return accept({ session, tenant, nonce })

    // Live, nonce, device and issued_at; then signature and counter, which are checked once.
    const early = checkPhone(attempt)
    const verdict = early.ok ? checkIssuedAt(issuedAt, now) : early
    if (!verdict.ok)
      return yield* rejectAndRecord(tables, id, {
        rejection: verdict.rejection,
        deviceId: device.id,
        now,
      })
    const verified = verifyAssertion(service, { device, payload, appAttest: request.app_attest })
    if (!verified.ok) {
      yield* penalizeInvalidAssertion(tables, {
        id,
        deviceId: device.id,
        rejection: verified.rejection,
        now,
      })
      return verified
    }
    // Lock order: the device's row, then the session's. The counter stays raised whatever
    // follows.
    if (!raised) {
      const counted = yield* raiseCounterOrSuspect(tables, {
        id,
        device,
        counter: verified.value.counter,
        issuedAt,
        now,
      })
      if (!counted.ok) return counted
      raised = true
    }
    const settled = yield* settle(service, tables, {
      attempt,
      request,
      verified: verified.value,
      digest,
      now,
    })
    if (settled === undefined) continue
    // Backends that relay an assertion call from their own network, which says nothing about the
    // phone.
    if (settled.ok && caller.kind === 'phone')
      yield* recordNetworkDifference(tables, session, { address, deviceId: device.id, now })
    return settled
  }
  return reject('session_not_live')
}

interface Valid {
  readonly attempt: PhoneAttempt
  readonly request: BondedPairAssertion
  readonly verified: VerifiedAssertion
  readonly digest: string
  readonly now: number
}

/**
 * Checks evidence and policy, and moves the session. Undefined if another call moved it in between.
 */
// oxlint-disable-next-line max-lines-per-function -- one transaction, in the order of its checks
function* settle(
  service: Service,
  tables: Tables,
  valid: Valid,
): Work<Result<PhoneReading> | undefined> {
  const { attempt, request, verified, now } = valid
  const { session, tenant, device, nonce } = attempt
  const evidence = request.verified_evidence

  const doubt = checkEvidence(service, valid)
  if (doubt !== undefined) {
    yield* penalizeInvalidAssertion(tables, {
      id: session.id,
      deviceId: device.id,
      rejection: doubt,
      now,
    })
    return { ok: false, rejection: doubt }
  }

  const byFlag = device.format === 'webauthn' && verified.userVerified
  const localAuth = byFlag || evidence.local_auth.result === 'verified'
  const method = byFlag ? 'passkey' : evidence.local_auth.method
  const key = {
    attested: isAttested(device),
    highestBand: highestBandOf(attempt, hasIndependentEvidence(evidence)),
  }
  const input = { evidence, localAuth, method, ...key }
  const unmet = unmetRequirements(session.policy, { evidence, localAuth, scores: score(input) })
  const pinned = { deviceId: device.id, nonce, validAssertions: session.validAssertions + 1 }

  // An approval that waits for the browser stays as it is, unless a fresh one replaces it.
  if (approvedLeg(session) !== undefined && unmet.length > 0)
    return accept({ session, tenant, nonce })
  if (unmet.length === 0 && requiresBrowser(session.policy)) {
    const approved = yield* tables.sessions.move(session, MOVES.approve, {
      now,
      set: {
        deviceId: device.id,
        nonce,
        bondDigest: valid.digest,
        ...approve(session, {
          device,
          evidenceIssuedAt: instantOf(evidence.issued_at),
          verification: summarizeVerification(input, attempt.continuity),
          now,
        }),
      },
    })
    return approved && accept({ session: approved, tenant, nonce })
  }
  if (unmet.length === 0) {
    const verification = summarizeVerification(input, attempt.continuity)
    const set = {
      ...pinned,
      verification,
      bondDigest: valid.digest,
      bondedAt: now,
      // Never earlier: a bond near the session's end extends it, an early bond keeps its expiry.
      expiresAt: Math.max(session.expiresAt, now + session.bondedTtlMs),
      subjectRef:
        attempt.knownAs ??
        (yield* tables.devices.pairwise({
          tenantId: session.tenantId,
          subjectId: device.subjectId,
          subjectRef: attempt.subjectRef,
        })),
    }
    const bonded = yield* tables.sessions.move(session, MOVES.bond, { now, set })
    if (bonded === undefined) return undefined
    yield* tables.sessions.storeContinuity({
      tenantId: session.tenantId,
      deviceId: device.id,
      mean: verification.continuity_score_long_lived,
      now,
    })
    return accept({ session: bonded, tenant, nonce })
  }

  if (pinned.validAssertions >= MAX_VALID_ASSERTIONS) {
    const ended = yield* tables.sessions.move(session, MOVES.failPolicy, { now, set: pinned })
    return ended && reject('policy_not_met', { step: 'policy' })
  }
  const stepUp = stepUpFor(unmet, { evidence, validAssertions: pinned.validAssertions })
  const stepped =
    session.state === 'pending'
      ? yield* tables.sessions.move(session, MOVES.stepUp, { now, set: { ...pinned, stepUp } })
      : yield* tables.sessions.countMiss(session, { now, stepUp })
  if (stepped === undefined) return undefined
  yield* tables.sessions.note(session.id, {
    at: now,
    kind: 'note',
    reason: 'policy_not_met',
    step: unmet.join(' '),
  })
  return accept({ session: stepped, tenant, nonce })
}

function checkEvidence(service: Service, { attempt, request, now }: Valid): Rejection | undefined {
  const { session, device, nonce } = attempt
  const evidence = request.verified_evidence
  const known = service.keys.holds(evidence.kid)
  const mac =
    known &&
    service.keys.evidenceMac(evidence.kid, evidenceContextOf(session, device, nonce), evidence)
  if (!mac || !service.keys.same(mac, evidence.signature))
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
