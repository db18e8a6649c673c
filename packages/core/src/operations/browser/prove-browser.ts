import {
  type BrowserProof,
  browserPayload,
  decodeBase64url,
  type DeviceId,
  type SessionId,
} from '@bonded/contract'
import {
  waitingApproval,
  type WaitingApproval,
  bondedCommitment,
  recall,
} from '../../domain/browser-proof.ts'
import { iso } from '../../domain/iso.ts'
import { MAX_FAILED_BROWSER_PROOFS } from '../../domain/lifetimes.ts'
import { accept, reject, type Result } from '../../domain/rejection.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { CallFacts, SessionFacts } from '../../protocol/facts.ts'
import { runChecks } from '../../protocol/run-checks.ts'
import { endedBySuspension, MOVES } from '../../protocol/states.ts'
import type { VerifiedAssertion } from '../../ports/devices.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { bondSession } from '../phone/bond-session.ts'
import { findAndExpireWatchedSession, readWatchedSession } from '../session/find-and-expire.ts'
import { loadAndExpireAttempt } from '../phone/phone-attempt.ts'
import { pageOf, type ProvingPage } from './proving-page.ts'
import type { BrowserCaller, Service } from '../service.ts'
import { countedFacts } from '../phone/signed-facts.ts'

/** A proof of the page's browser, and the session that it is for. */
export interface BrowserRequest {
  readonly id: SessionId | undefined
  readonly watchToken: string | undefined
  readonly proof: BrowserProof
}

/**
 * Bonds a session whose phone has approved, by an assertion of that phone's credential in the
 * browser (protocol 14). The phone is checked again, because it may have been removed since.
 *
 * The same commitment again returns the session. No caller reaches the cryptography without a
 * phone's approval.
 */
export async function proveBrowser(
  service: Service,
  { key, origin }: Pick<BrowserCaller, 'key' | 'origin'>,
  { id, watchToken, proof }: BrowserRequest,
): Promise<Result<Session>> {
  const page = pageOf(service, { key, origin }, proof.parent_origin)
  if (!page.ok) return page
  const watcher = { id, key, watchToken }
  // Publishable keys are public, so a caller without a watch token must not occupy the writer.
  const seen = await readWatchedSession(service, watcher)
  if (!seen.ok) return seen
  const early = settled(service, seen.value, proof)
  if (early !== undefined) return early
  const { deviceId } = seen.value
  if (deviceId === null) return reject('session_not_live')
  return service.store.write(function* (tables): Work<Result<Session>> {
    for (;;) {
      // Lock order: the device's row, then the session's.
      const device = yield* tables.devices.find(deviceId)
      const found = yield* findAndExpireWatchedSession(service, tables, watcher)
      if (!found.ok) return found
      const attempt =
        device &&
        (yield* loadAndExpireAttempt(service, tables, { id: found.value.id, device, nonce: '' }))
      if (attempt === undefined) return reject('session_not_live')
      const now = settled(service, attempt.session, proof)
      if (now !== undefined) return now
      const bonded = yield* bondOrReject(service, tables, { attempt, proof, page: page.value })
      if (bonded !== undefined) return bonded
    }
  })
}

/** The result where there is nothing to prove; undefined while the session waits for the proof. */
function settled(
  { keys }: Service,
  session: Session,
  { commitment }: BrowserProof,
): Result<Session> | undefined {
  const bonded = bondedCommitment(session)
  if (bonded !== undefined && keys.same(bonded, commitment)) return accept(session)
  if (endedBySuspension(session)) return reject('tenant_suspended')
  return waitingApproval(session) === undefined ? reject('session_not_live') : undefined
}

interface ProofAttempt {
  readonly attempt: SessionFacts
  readonly proof: BrowserProof
  readonly page: ProvingPage
}

/**
 * Checks phone, evidence and proof, and bonds the session. Undefined if another call changed it in
 * between.
 */
function* bondOrReject(
  service: Service,
  tables: Tables,
  proving: ProofAttempt,
): Work<Result<Session> | undefined> {
  const { attempt, proof, page } = proving
  const { session, now } = attempt
  const approval = waitingApproval(session)
  const failed = yield* runChecks('browser', factsOf(service, tables, proving))
  if (failed?.rejection.reason === 'tenant_suspended') return reject('tenant_suspended')
  if (approval === undefined) return reject('session_not_live')
  if (failed?.rejection.reason === 'evidence_expired') {
    const set = recall(session, 'evidence_expired')
    const recalled = yield* tables.sessions.move(session, MOVES.recall, { now, set })
    return recalled && reject('session_not_live')
  }
  if (failed !== undefined)
    return yield* rejectAndCountProof(tables, attempt, { approval, step: failed.check.step })
  const { commitment } = proof
  const browser = { origin: page.origin, proved_at: iso(now) }
  const bonded = yield* bondSession(tables, attempt, {
    verification: { ...approval.verification, browser },
    set: { browserProof: { commitment } },
  })
  return bonded && accept(bonded)
}

/** What the checks look at. The key that signs is one of the phone that approved. */
function factsOf(
  service: Service,
  tables: Tables,
  { attempt, proof, page }: ProofAttempt,
): CallFacts['browser'] {
  const { session, device, now } = attempt
  const { id, response } = proof.assertion
  const isApproved = waitingApproval(session)?.credentials.includes(id) === true
  const key = isApproved ? keyOf(device, id) : undefined
  const clientData = textOf(response.clientDataJSON)
  return {
    ...attempt,
    // Without related origins, a page may use the passkeys only through the service's frame.
    pageMayProve: page.isFramed || service.settings.relatedOrigins === true,
    isItsCredential: key !== undefined,
    clientDataIsText: clientData !== undefined,
    ...countedFacts(
      () =>
        key === undefined || clientData === undefined
          ? reject('browser_proof_invalid')
          : verify(service, { session, proof, page, key, clientData }),
      // With the time of the proof, so that an assertion that the phone signed before it and that
      // arrives after it is rejected, but makes no device suspect.
      (counter) =>
        key === device
          ? tables.devices.raiseCounter(device.id, counter, now)
          : tables.devices.raiseBrowserCounter(device.id, id, counter),
    ),
  }
}

/**
 * The key of the phone that has this credential: its own passkey or its browser key, and no other
 * key of its subject. Undefined if the phone no longer has it.
 */
function keyOf(device: Device, credentialId: string): Device | undefined {
  if (device.format === 'webauthn' && device.keyId === credentialId) return device
  const { browserKey } = device
  if (browserKey?.keyId !== credentialId) return undefined
  const { keyId, publicKey, rpId: appId, counter, backupEligible } = browserKey
  const webauthn = { attested: false, backupEligible }
  return { ...device, format: 'webauthn', keyId, publicKey, appId, counter, webauthn }
}

/** Verifies the assertion of a key that may answer. */
function verify(
  service: Service,
  of: Pick<ProofAttempt, 'proof' | 'page'> & {
    readonly session: Session
    readonly key: Device
    readonly clientData: string
  },
): Result<VerifiedAssertion> {
  const { session, proof, page, key, clientData } = of
  const { id, response } = proof.assertion
  const { origin, isFramed } = page
  return service.assertionVerifiers.webauthn.verify({
    device: key,
    origin: isFramed ? service.settings.publicOrigin : origin,
    topOrigin: isFramed ? origin : undefined,
    payload: browserPayload({
      session_id: session.id,
      tenant_id: session.tenantId,
      workflow: session.workflow,
      action: session.action,
      origin,
      commitment: proof.commitment,
    }),
    appAttest: {
      key_id: id,
      client_data_hash: service.keys.sha256(clientData),
      client_data_json: response.clientDataJSON,
      authenticator_data: response.authenticatorData,
      signature: response.signature,
    },
  })
}

/** Client data is JSON in UTF-8; other bytes are undefined. */
function textOf(base64url: string): string | undefined {
  const bytes = decodeBase64url(base64url)
  try {
    return bytes && new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Records and counts a failed proof. The eighth ends the approval, and the session goes on. */
function* rejectAndCountProof(
  tables: Tables,
  { session, knownAs: subjectRef, now }: SessionFacts,
  { approval, step }: { readonly approval: WaitingApproval; readonly step: string },
): Work<Result<never>> {
  const reason = 'browser_proof_invalid'
  yield* tables.sessions.note(session.id, { at: now, kind: 'refused', reason, step, subjectRef })
  // Beside the counts of the phones, which have ids of another form.
  const failures = yield* tables.sessions.countFailure(
    session.id,
    `browser ${approval.seq}` as DeviceId,
  )
  if (failures >= MAX_FAILED_BROWSER_PROOFS)
    yield* tables.sessions.move(session, MOVES.recall, {
      now,
      set: recall(session, 'browser_proof_failed'),
    })
  return reject(reason, { step })
}
