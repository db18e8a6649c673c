import { assertionPayload, ATTEST, type BondedPairAssertion, wordsToShow } from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import { hashOf } from '../bytes.ts'
import { isRejection } from '../errors.ts'
import { newBrowserKey } from '../keys/browser-key.ts'
import type { AbortSignalLike } from '../ports.ts'
import { timestampAt } from '../server-time.ts'
import { call } from '../service/call.ts'
import { withServerTime } from '../service/resync.ts'
import {
  type ClaimedSession,
  getSession,
  parseSession,
  type PhoneDependencies,
  wordsShownBy,
} from './claimed-session.ts'
import { fetchEvidence, type Gathered, isCurrent } from './evidence.ts'
import type { PhoneSignals } from './signals.ts'
import { awaitsBrowser } from './step-up.ts'

interface Attempt {
  readonly signals: PhoneSignals
  readonly onPrompt?: ((prompt: 'browser_key' | 'approval') => void | Promise<void>) | undefined
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Responds to the session's nonce once: evidence, then the assertion over it. The result is bonded,
 * or requires a step-up.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
 * `cancelled`
 */
export async function attestOnce(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  attempt: Attempt,
): Promise<ClaimedSession> {
  // First: the user needs longer for it than the evidence may wait.
  const prepared = await withBrowserKey(phone, claimed, attempt)
  await attempt.onPrompt?.('approval')
  let gathered =
    reusable(phone, prepared, attempt.signals.evidence) ??
    (await fetchEvidence(phone, prepared, attempt))
  const submitCurrent = async () =>
    withServerTime(phone, gathered.claimed.server_time, async (server_time) => {
      const known = { ...gathered.claimed, server_time }
      gathered = { ...gathered, claimed: known }
      if (!isCurrent(phone, gathered)) gathered = await fetchEvidence(phone, known, attempt)
      return submit(phone, gathered, attempt.signal)
    })
  try {
    return await submitCurrent()
  } catch (error) {
    if (!isRejection(error, 'evidence_expired')) throw error
    gathered = await fetchEvidence(phone, gathered.claimed, attempt)
    return submitCurrent()
  }
}

/** Evidence that was fetched ahead, if it is for this nonce. An older one may be too old by now. */
function reusable(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  ahead: Gathered | undefined,
): Gathered | undefined {
  const isSame =
    ahead?.claimed.session.id === claimed.session.id &&
    ahead.claimed.session.nonce === claimed.session.nonce &&
    ahead.claimed.device.device_id === claimed.device.device_id
  return isSame && isCurrent(phone, ahead) ? { ...ahead, claimed } : undefined
}

async function withBrowserKey(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  { onPrompt }: Attempt,
): Promise<ClaimedSession> {
  if (claimed.browser_key !== 'wanted') return claimed
  await onPrompt?.('browser_key')
  return { ...claimed, browser_key: await newBrowserKey(phone) }
}

/**
 * Sends one assertion, and the same bytes again after a lost response. When it has bonded, the
 * service responds to the repetition with the session.
 */
function submit(
  phone: PhoneDependencies,
  gathered: Gathered,
  signal: AbortSignalLike | undefined,
): Promise<ClaimedSession> {
  const { claimed } = gathered
  const { id: session_id, nonce, state } = claimed.session
  return call(phone, ATTEST, {
    parameters: {},
    device: claimed.device,
    body: () => assertionOver(phone, gathered),
    read: (response) => registered(parseSession(phone, claimed, { response, session_id })),
    // The service rejects the repetition of an assertion that led to a step-up or ended the
    // session.
    async afterLostResponse() {
      const current = await getSession(phone, claimed, { signal })
      const isUnchanged = current.session.nonce === nonce && current.session.state === state
      return isUnchanged ? undefined : registered(current)
    },
    signal,
  })
}

/** The service has stored the browser key with the approval. A step-up sends it again. */
function registered({ browser_key, ...claimed }: ClaimedSession): ClaimedSession {
  const { session } = claimed
  return session.state === 'bonded' || awaitsBrowser(session)
    ? claimed
    : { ...claimed, browser_key }
}

/**
 * The assertion over the payload that the service rebuilds (protocol 5). `origin` is the phone's
 * own, never one that it received.
 */
async function assertionOver(
  phone: PhoneDependencies,
  { claimed, evidence }: Gathered,
): Promise<BondedPairAssertion> {
  const { device, session, server_time, browser_key } = claimed
  if (browser_key === 'wanted') throw new TypeError('the browser key is created before')
  const { device_id, subject_id } = device
  const fields = {
    session_id: session.id,
    nonce: session.nonce,
    device_id,
    subject_id,
    issued_at: timestampAt(server_time, phone.clock.now()),
  }
  const shown = wordsShownBy(phone)
  const shows = wordsToShow(session.context).filter((word) => shown.includes(word))
  const payload = assertionPayload({
    ...fields,
    tenant_id: session.tenant_id,
    workflow: session.workflow,
    action: session.action,
    origin: phone.origin,
    context: session.context === null ? null : await hashOf(phone.sha256, session.context),
    evidence: await hashOf(phone.sha256, evidence),
    browser_key: browser_key && (await hashOf(phone.sha256, browser_key)),
  })
  return {
    ...fields,
    app_attest: await signPayload(phone, { payload, key: device }),
    verified_evidence: evidence,
    ...(browser_key !== undefined && { browser_key }),
    // Only if needed: older services do not know the member.
    ...(shows.length > 0 && { shows }),
  }
}
