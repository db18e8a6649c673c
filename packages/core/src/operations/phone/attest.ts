import {
  assertionPayload,
  type BondedPairAssertion,
  canonicalJson,
  type SessionId,
} from '@bonded/contract'
import { evidenceIsCurrent } from '../../domain/evidence.ts'
import { instantOf } from '../../domain/iso.ts'
import { bondProof } from '../../domain/receipts.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { CallFacts, PhoneFacts } from '../../protocol/facts.ts'
import { runChecks } from '../../protocol/run-checks.ts'
import { canRepeatBond } from '../../protocol/states.ts'
import { moveByEvidence } from './move-by-evidence.ts'
import { rejectUndone } from '../device/browser-key.ts'
import { findAndExpireKeptSession } from '../session/find-and-expire.ts'
import type { PhoneReading } from '../session/read-session.ts'
import {
  endEvaluation,
  loadAndExpireAttempt,
  recordNetworkDifference,
  rejectAndCount,
} from './phone-attempt.ts'
import {
  type BackendCaller,
  evidenceContextOf,
  type PhoneCaller,
  type Service,
} from '../service.ts'
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

/** What the assertion brings along: its evidence, and what the phone can show and answer. */
function evidenceFacts(
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
