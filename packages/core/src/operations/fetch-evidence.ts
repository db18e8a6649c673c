import {
  canonicalJson,
  type EvidenceRequest,
  evidenceRequestPayload,
  type SessionId,
  type VerifiedEvidence,
} from '@bonded/contract'
import type { Continuity } from '../domain/continuity.ts'
import { summarise } from '../domain/evidence.ts'
import { instantOf } from '../domain/iso.ts'
import { checkIssuedAt, checkPhone, type PhoneAttempt } from '../domain/phone-rules.ts'
import { accept, type Result, reject } from '../domain/rejection.ts'
import type { Work } from '../ports/work.ts'
import { updateContinuity } from './update-continuity.ts'
import { evaluatePassport } from './evaluate-passport.ts'
import {
  endEvaluation,
  loadAttempt,
  raiseCounterOrSuspect,
  rejectAndRecord,
} from './phone-attempt.ts'
import { evidenceContextOf, type PhoneCaller, type Service } from './service.ts'
import { verifyAssertion } from './verify-assertion.ts'

/** The facts after the request's assertion was accepted. */
interface Admitted {
  readonly attempt: PhoneAttempt
  readonly continuity: Continuity
}

/**
 * Evaluates a phone's signals and signs a summary for this session, device and nonce. The phone
 * relays the summary with its assertion; it is invalid anywhere else.
 */
// oxlint-disable-next-line max-lines-per-function -- one call, in the order of protocol 7
export async function fetchEvidence(
  service: Service,
  caller: PhoneCaller,
  request: EvidenceRequest,
): Promise<Result<VerifiedEvidence>> {
  const { device } = caller
  const { nonce, signals, app_attest } = request
  const id = request.session_id as SessionId
  if (device.id !== request.device_id) return reject('device_not_usable', { param: 'device_id' })
  if (device.subjectId !== request.subject_id)
    return reject('device_not_usable', { param: 'subject_id' })
  // Protocol 7: the user is prompted once, for the bond. A page's report proves nothing, signed or
  // not.
  const isPage = device.format === 'webauthn'
  if (isPage && app_attest !== undefined) return reject('unknown_member', { param: 'app_attest' })
  if (!isPage && app_attest === undefined) return reject('missing_member', { param: 'app_attest' })

  const payload = evidenceRequestPayload({
    ...request,
    signals: service.keys.sha256(canonicalJson(signals)),
  })
  const issuedAt = instantOf(request.issued_at)
  const admitted = await service.store.write(function* (tables): Work<Result<Admitted>> {
    const attempt = yield* loadAttempt(service, tables, { id, device, nonce })
    if (attempt === undefined) return reject('session_not_live')
    const { now } = attempt
    const early = checkPhone(attempt)
    const verdict = early.ok ? checkIssuedAt(issuedAt, now) : early
    if (!verdict.ok)
      return yield* rejectAndRecord(tables, id, {
        rejection: verdict.rejection,
        deviceId: device.id,
        now,
      })
    if (app_attest !== undefined) {
      const verified = verifyAssertion(service, { device, payload, appAttest: app_attest })
      if (!verified.ok)
        return yield* rejectAndRecord(tables, id, {
          rejection: verified.rejection,
          deviceId: device.id,
          now,
        })
      const counted = yield* raiseCounterOrSuspect(tables, {
        id,
        device,
        counter: verified.value.counter,
        issuedAt,
        now,
      })
      if (!counted.ok) return counted
    }
    yield* tables.sessions.hint(attempt.session, 'evaluating', now)
    return accept({
      attempt,
      continuity: yield* updateContinuity(service, tables, {
        id,
        device,
        signals,
        now,
      }),
    })
  })
  if (!admitted.ok) return admitted
  const { attempt, continuity } = admitted.value
  const { session } = attempt

  const { sealedPhoneNumber: sealed } = session
  const phoneNumber =
    sealed === null ? null : service.keys.openNumber(session.rootKeyId, session.id, sealed)
  const [carrier, passport] = await Promise.all([
    service.carrier.check({ phoneNumber, signal: signals.carrier }),
    evaluatePassport(service, attempt, signals.passport),
  ])
  const { note } = carrier
  if (note !== undefined) {
    await service.store.write((tables) =>
      tables.sessions.note(session.id, { at: service.clock.now(), kind: 'carrier', reason: note }),
    )
  }
  if (!passport.ok) {
    const of = { id, deviceId: device.id, now: service.clock.now() }
    await service.store.write((tables) => endEvaluation(tables, of))
    return passport
  }
  const unsigned = summarise(
    {
      signals: isPage
        ? { ...signals, local_auth: { ...signals.local_auth, result: 'failed', method: 'none' } }
        : signals,
      requestedAt: issuedAt,
      carrier: carrier.finding,
      continuity,
      passport: passport.value,
      sessionExpiresAt: session.expiresAt,
      keyId: service.keys.currentKeyId,
    },
    service.clock.now(),
  )
  const signature = service.keys.evidenceMac(
    unsigned.kid,
    evidenceContextOf(session, device, nonce),
    unsigned,
  )
  return accept({ ...unsigned, signature })
}
