import {
  canonicalJson,
  type EvidenceRequest,
  evidenceRequestPayload,
  type EvidenceSignals,
  type PassportTier,
  type SessionId,
  type VerifiedEvidence,
} from '@bonded/contract'
import type { Continuity } from '../../domain/continuity.ts'
import { type CarrierFinding, localAuthTime, summarise } from '../../domain/evidence.ts'
import { instantOf } from '../../domain/iso.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { LOCAL_AUTH } from '../../protocol/checks.ts'
import type { PhoneFacts } from '../../protocol/facts.ts'
import { runChecks } from '../../protocol/run-checks.ts'
import { updateContinuity } from './update-continuity.ts'
import { evaluateAndNotePassport } from './evaluate-passport.ts'
import { endEvaluation, loadAndExpireAttempt, rejectAndSuspect } from './phone-attempt.ts'
import { evidenceContextOf, type PhoneCaller, type Service } from '../service.ts'
import { signedFacts } from './signed-facts.ts'

/** The facts after the request's assertion was accepted. */
interface Admitted {
  readonly attempt: PhoneFacts
  readonly continuity: Continuity
}

/**
 * Evaluates a phone's signals and signs a summary for this session, device and nonce. The phone
 * relays the summary with its assertion; it is invalid anywhere else.
 */
export async function fetchEvidence(
  service: Service,
  { device }: PhoneCaller,
  request: EvidenceRequest,
): Promise<Result<VerifiedEvidence>> {
  const { signals, app_attest } = request
  if (device.id !== request.device_id) return reject('device_not_usable', { param: 'device_id' })
  if (device.subjectId !== request.subject_id)
    return reject('device_not_usable', { param: 'subject_id' })
  // Protocol 7: the user is prompted once, for the bond. A page's report proves nothing, signed or
  // not.
  const isPage = device.format === 'webauthn'
  if (isPage && app_attest !== undefined) return reject('unknown_member', { param: 'app_attest' })
  if (!isPage && app_attest === undefined) return reject('missing_member', { param: 'app_attest' })

  const admitted = await service.store.write((tables) => admit(service, tables, device, request))
  if (!admitted.ok) return admitted
  const { attempt, continuity } = admitted.value
  const outside = await askOutside(service, attempt, signals)
  if (!outside.ok) return outside
  const { session, nonce } = attempt
  const unsigned = summarise(
    {
      signals: isPage
        ? { ...signals, local_auth: { ...signals.local_auth, result: 'failed', method: 'none' } }
        : signals,
      requestedAt: instantOf(request.issued_at),
      ...outside.value,
      continuity,
      sessionExpiresAt: session.expiresAt,
      keyId: service.keys.currentKeyId,
    },
    service.clock.now(),
  )
  const context = evidenceContextOf(session, device, nonce)
  return accept({
    ...unsigned,
    signature: service.keys.evidenceMac(unsigned.kid, context, unsigned),
  })
}

/** Checks the call and its assertion, and stores the motion of the phone. */
function* admit(
  service: Service,
  tables: Tables,
  device: Device,
  request: EvidenceRequest,
): Work<Result<Admitted>> {
  const { nonce, signals } = request
  const id = request.session_id as SessionId
  const attempt = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
  if (attempt === undefined) return reject('session_not_live')
  const { now } = attempt
  const issuedAt = instantOf(request.issued_at)
  // A page's key proves its user in the assertion of the bond, so its report counts for nothing.
  const isApp = device.format !== 'webauthn'
  const verifiedAt = isApp ? localAuthTime(signals.local_auth, issuedAt) : 'in_range'
  const failed = yield* runChecks('evidence', {
    ...attempt,
    ...evidenceSignature(service, tables, { device, request, issuedAt }),
    issuedAt,
    localAuthIsAhead: verifiedAt === 'ahead',
  })
  if (failed !== undefined) return yield* rejectAndSuspect(tables, attempt, { ...failed, issuedAt })
  // A page fetches evidence while its user reads the request, and has nothing to evaluate yet.
  if (isApp) yield* tables.sessions.hint(attempt.session, 'evaluating', now)
  if (verifiedAt === 'too_old' && signals.local_auth.result === 'verified')
    yield* tables.sessions.note(id, {
      at: now,
      kind: 'note',
      reason: 'local_auth_too_old',
      step: LOCAL_AUTH,
    })
  const continuity = yield* updateContinuity(service, tables, { id, device, signals, now })
  return accept({ attempt, continuity })
}

/** What the phone signed. A page signs nothing here: its report proves nothing either way. */
function evidenceSignature(
  service: Service,
  tables: Tables,
  of: { readonly device: Device; readonly request: EvidenceRequest; readonly issuedAt: Instant },
): ReturnType<typeof signedFacts> {
  const { device, request, issuedAt } = of
  const { app_attest: appAttest, signals } = request
  if (appAttest === undefined)
    return {
      assertion: () => accept({ counter: 0, userVerified: false }),
      raiseCounter: () => true,
    }
  const hashed = { ...request, signals: service.keys.sha256(canonicalJson(signals)) }
  const signed = { device, payload: evidenceRequestPayload(hashed), appAttest }
  return signedFacts(service, signed, (counter) =>
    tables.devices.raiseCounter(device.id, counter, issuedAt),
  )
}

/** Asks the carrier and verifies the passport, outside the unit of work: both take long. */
async function askOutside(
  service: Service,
  attempt: PhoneFacts,
  signals: EvidenceSignals,
): Promise<Result<{ carrier: CarrierFinding; passport: PassportTier | undefined }>> {
  const { session, device } = attempt
  const { sealedPhoneNumber: sealed } = session
  const phoneNumber =
    sealed === null ? null : service.keys.openNumber(session.rootKeyId, session.id, sealed)
  const [carrier, passport] = await Promise.all([
    service.carrier.check({ phoneNumber, signal: signals.carrier }),
    evaluateAndNotePassport(service, attempt, signals.passport),
  ])
  const { note, isUnavailable = false } = carrier
  if (isUnavailable) service.meter.failed('carrier')
  if (note !== undefined) {
    await service.store.write((tables) =>
      tables.sessions.note(session.id, { at: service.clock.now(), kind: 'carrier', reason: note }),
    )
  }
  if (passport.ok) return accept({ carrier: carrier.finding, passport: passport.value })
  const of = { id: session.id, deviceId: device.id, now: service.clock.now() }
  await service.store.write((tables) => endEvaluation(tables, of))
  return passport
}
