import { assertionPayload, type BondedPairAssertion } from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import { hashOf } from '../bytes.ts'
import { isRefusal, PhoneError } from '../errors.ts'
import type { AbortSignalLike } from '../ports.ts'
import { timestampAt } from '../server-time.ts'
import { exchange } from '../service/exchange.ts'
import { patiently } from '../service/patience.ts'
import { withServerTime } from '../service/resync.ts'
import { currentToken } from '../keys/current-token.ts'
import { type ClaimedSession, heard, type Instruments, look } from './claimed.ts'
import { fetchEvidence, type Gathered, isCurrent } from './evidence.ts'
import type { PhoneSignals } from './signals.ts'

interface Answering {
  readonly signals: PhoneSignals
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Answers the session's nonce once: evidence, then the assertion over it. The session comes back bonded, or asking for more.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`, `cancelled`
 */
export async function answerOnce(
  phone: Instruments,
  claimed: ClaimedSession,
  answering: Answering,
): Promise<ClaimedSession> {
  let gathered = await fetchEvidence(phone, claimed, answering)
  const submitCurrent = async () =>
    withServerTime(phone, gathered.claimed.server_time, async (server_time) => {
      const known = { ...gathered.claimed, server_time }
      gathered = { ...gathered, claimed: known }
      if (!isCurrent(phone, gathered)) gathered = await fetchEvidence(phone, known, answering)
      return submit(phone, gathered, answering.signal)
    })
  try {
    return await submitCurrent()
  } catch (error) {
    if (!isRefusal(error, 'evidence_expired')) throw error
    gathered = await fetchEvidence(phone, gathered.claimed, answering)
    return submitCurrent()
  }
}

/**
 * Sends one assertion until it is answered, each time the same bytes: if it has bonded already, the service answers
 * the repetition with the session.
 */
async function submit(
  phone: Instruments,
  gathered: Gathered,
  signal: AbortSignalLike | undefined,
): Promise<ClaimedSession> {
  const { claimed } = gathered
  const body = JSON.stringify(await assertionOver(phone, gathered))
  const token = await currentToken(phone, claimed.device)
  let sent = 0
  try {
    const answer = await patiently(
      (tries) => {
        sent = tries
        return exchange(phone, {
          method: 'POST',
          path: '/api/v1/attestations',
          token,
          body,
          signal,
        })
      },
      { ...phone, signal },
    )
    return heard(phone, claimed, { answer, session_id: claimed.session.id })
  } catch (error) {
    // A lost assertion that led to a step-up, or to the end, is refused when it comes again. The session tells.
    if (sent < 2 || !(error instanceof PhoneError) || error.code !== 'refused') throw error
    const now = await look(phone, claimed, { signal })
    if (now.session.nonce === claimed.session.nonce && now.session.state === claimed.session.state)
      throw error
    return now
  }
}

/** The assertion, over what the server will rebuild (protocol 5). `origin` is this phone's own, never one it was told. */
async function assertionOver(
  phone: Instruments,
  { claimed, evidence }: Gathered,
): Promise<BondedPairAssertion> {
  const { device, session, server_time } = claimed
  const { device_id, subject_id, key_id } = device
  const fields = {
    session_id: session.id,
    nonce: session.nonce,
    device_id,
    subject_id,
    issued_at: timestampAt(server_time, phone.clock.now()),
  }
  const payload = assertionPayload({
    ...fields,
    tenant_id: session.tenant_id,
    workflow: session.workflow,
    action: session.action,
    origin: phone.origin,
    context: session.context === null ? null : await hashOf(phone.sha256, session.context),
    evidence: await hashOf(phone.sha256, evidence),
  })
  return {
    ...fields,
    app_attest: await signPayload(phone, { payload, key_id }),
    verified_evidence: evidence,
  }
}
