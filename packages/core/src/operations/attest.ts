import {
  assertionPayload,
  type BondedPairAssertion,
  canonicalJson,
  type SessionId,
} from '@bonded/contract'
import { evidenceIsCurrent } from '../domain/evidence.ts'
import { instantOf } from '../domain/iso.ts'
import { bondProof } from '../domain/receipts.ts'
import { accept, type Result, reject } from '../domain/rejection.ts'
import type { Device, Session } from '../domain/session.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'
import type { CallFacts, PhoneFacts } from '../protocol/facts.ts'
import { runChecks } from '../protocol/run-checks.ts'
import { canRepeatBond } from '../protocol/states.ts'
import { moveByEvidence } from './move-by-evidence.ts'
import { rejectUndone } from './browser-key.ts'
import { findAndExpireKeptSession } from './find-and-expire.ts'
import type { PhoneReading } from './read-session.ts'
import {
  endEvaluation,
  loadAndExpireAttempt,
  recordNetworkDifference,
  rejectAndCount,
} from './phone-attempt.ts'
import { type BackendCaller, evidenceContextOf, type PhoneCaller, type Service } from './service.ts'
import { signedFacts } from './signed-facts.ts'

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
  const { nonce, app_attest: assertion } = request
  const id = request.session_id as SessionId
  const first = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
  if (first === undefined) return reject('session_not_live')

  const payload = rebuildPayload(service, first.session, request)
  const digest = service.keys.sha256(payload)
  const issuedAt = instantOf(request.issued_at)
  const signed = signedFacts(service, { device, payload, appAttest: assertion }, (counter) =>
    tables.devices.raiseCounter(device.id, counter, issuedAt),
  )
  // Each pass evaluates the stored data. A pass is repeated only if another call changed the
  // session in between.
  for (
    let attempt: PhoneFacts | undefined = first;
    attempt !== undefined;
    attempt = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
  ) {
    const { session, tenant, now } = attempt
    // A replay of the bonding assertion gets its response before any check of time, so that a lost
    // response costs nothing.
    if (isReplay(session, { device, digest, now })) return accept({ session, tenant, nonce })

    const facts = { ...attempt, ...signed, ...evidenceFacts(service, attempt, request), issuedAt }
    const failed = yield* runChecks('attest', facts)
    if (failed !== undefined) return yield* rejectAndCount(tables, attempt, { ...failed, issuedAt })
    const verified = signed.assertion()
    const moved = yield* moveByEvidence(service, tables, {
      attempt,
      evidence: request.verified_evidence,
      browserKey: request.browser_key,
      userVerified: verified.ok && verified.value.userVerified,
      digest,
      proof: service.receiptSigner && bondProof(device, { payload, assertion }),
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

<<<<<<< HEAD
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
=======
/** What the assertion brings along: its evidence, and what the phone can show and answer. */
function evidenceFacts(
>>>>>>> 42c3303d (refactor(core): write the checks of the protocol as one table)
  { keys }: Service,
  { session, device, nonce, now }: PhoneFacts,
  { verified_evidence: evidence, shows = [], browser_key }: BondedPairAssertion,
): Pick<
  CallFacts['attest'],
  'shows' | 'bringsBrowserKey' | 'evidenceIsOurs' | 'evidenceIsCurrent'
> {
  const context = evidenceContextOf(session, device, nonce)
  return {
    shows,
    bringsBrowserKey: browser_key !== undefined,
    evidenceIsOurs: () =>
      keys.holds(evidence.kid) &&
      keys.same(keys.evidenceMac(evidence.kid, context, evidence), evidence.signature),
    evidenceIsCurrent: evidenceIsCurrent(evidence, now),
  }
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
  return (
    canRepeatBond(session, now) && session.deviceId === device.id && session.bondDigest === digest
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
