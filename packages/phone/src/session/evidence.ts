import {
  type EvidenceRequest,
  evidenceRequestPayload,
  FETCH_EVIDENCE,
  type PassportSignal,
  type VerifiedEvidence,
} from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import { hashOf, utf8 } from '../bytes.ts'
import type { AbortSignalLike } from '../ports.ts'
import { serverMsAt, timestampAt } from '../server-time.ts'
import { call } from '../service/call.ts'
import { withServerTime } from '../service/resync.ts'
import { readEvidence } from '../service/read-response.ts'
import type { ClaimedSession, PhoneDependencies } from './claimed-session.ts'
import { type PhoneSignals, toWire } from './signals.ts'

/** Evidence that expires sooner is fetched again: the assertion must arrive before that. */
const EXPIRY_MARGIN_MS = 5_000

/** An evidence summary, and the session as known when it was fetched. */
export interface Gathered {
  readonly claimed: ClaimedSession
  readonly evidence: VerifiedEvidence
}

/**
 * Fetches an evidence summary of the signals. Each attempt has a new signature, because the service
 * may have counted the lost one and rejects a repeated counter.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
 * `cancelled`
 */
export async function fetchEvidence(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  {
    signals,
    ...sending
  }: { signals: PhoneSignals; signal?: AbortSignalLike | undefined; retry?: false },
): Promise<Gathered> {
  // Once, before the first attempt: a lost response must not make the user present the passport
  // again.
  const passport = await signals.passport?.(await challengeFor(phone, claimed.session.nonce))
  return withServerTime(phone, claimed.server_time, async (server_time) => {
    const known = { ...claimed, server_time }
    const evidence = await call(phone, FETCH_EVIDENCE, {
      parameters: {},
      device: known.device,
      body: () => signedRequest(phone, known, { signals, passport }),
      read: readEvidence,
      passport,
      ...sending,
    })
    return { claimed: known, evidence }
  })
}

/** Whether the summary can still be relayed. */
export function isCurrent(phone: PhoneDependencies, { claimed, evidence }: Gathered): boolean {
  return (
    serverMsAt(claimed.server_time, phone.clock.now()) + EXPIRY_MARGIN_MS <
    Date.parse(evidence.expires_at)
  )
}

/** The challenge that a passport's chip signs (protocol 7). */
async function challengeFor({ sha256 }: PhoneDependencies, nonce: string): Promise<Uint8Array> {
  return (await sha256(utf8(`bond-aa/v1${nonce}`))).slice(0, 8)
}

interface GatheredSignals {
  readonly signals: PhoneSignals
  readonly passport: PassportSignal | undefined
}

async function signedRequest(
  phone: PhoneDependencies,
  known: ClaimedSession,
  { signals, passport }: GatheredSignals,
): Promise<EvidenceRequest> {
  const { device, session, server_time } = known
  const { device_id, subject_id } = device
  const wire = toWire(signals, { time: server_time, passport })
  const fields = {
    session_id: session.id,
    nonce: session.nonce,
    device_id,
    subject_id,
    issued_at: timestampAt(server_time, phone.clock.now()),
  }
  // Protocol 7: one prompt per approval is enough, so a browser key does not sign its evidence
  // request.
  if (phone.signer.format === 'webauthn') return { ...fields, signals: wire }
  const payload = evidenceRequestPayload({ ...fields, signals: await hashOf(phone.sha256, wire) })
  return {
    ...fields,
    signals: wire,
    app_attest: await signPayload(phone, { payload, key: device }),
  }
}
