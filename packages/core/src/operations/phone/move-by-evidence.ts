import type { BrowserKeyRegistration, VerifiedEvidence } from '@bonded/contract'
import {
  approve,
  waitingApproval,
  browserCredentialsOf,
  requiresBrowser,
} from '../../domain/browser-proof.ts'
import { summarizeVerification } from '../../domain/evidence.ts'
import { instantOf } from '../../domain/iso.ts'
import { highestBandOf, isAttested, hasIndependentEvidence } from '../../domain/key-rules.ts'
import { MAX_VALID_ASSERTIONS } from '../../domain/lifetimes.ts'
import { unmetRequirements } from '../../domain/policy.ts'
import type { BondProof } from '../../domain/receipts.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import { score } from '../../domain/scoring.ts'
import type { Session } from '../../domain/session.ts'
import { stepUpFor } from '../../domain/step-up.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { PhoneFacts } from '../../protocol/facts.ts'
import { isUnanswered, MOVES } from '../../protocol/states.ts'
import { bondSession } from './bond-session.ts'
import { type NewBrowserKey, storeBrowserKey, verifyBrowserKey } from '../device/browser-key.ts'
import { rejectAndRecord } from './phone-attempt.ts'
import type { Service } from '../service.ts'

/** An assertion that has passed every check. */
interface Valid {
  readonly attempt: PhoneFacts
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
 * Compares an approval with the policy, and moves the session. Undefined if another call moved it
 * in between.
 */
export function* moveByEvidence(
  service: Service,
  tables: Tables,
  valid: Valid,
): Work<Result<Session> | undefined> {
  const { attempt, evidence, digest, proof } = valid
  const { session, device, nonce, now } = attempt
  const facts = scoredFacts(valid)
  const unmet = unmetRequirements(session.policy, { ...facts, scores: score(facts) })
  if (unmet.length > 0)
    // An approval that waits for the browser stays as it is, unless a fresh one replaces it.
    return waitingApproval(session) === undefined
      ? yield* missPolicy(tables, valid, unmet)
      : accept(session)

  const added = newBrowserKey(service, valid)
  if (!added.ok) return yield* rejectAndRecord(tables, attempt, added.rejection)
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
    if (bonded !== undefined) yield* storeBrowserKey(tables, device, added.value)
    return bonded && accept(bonded)
  }
  const browserKey = added.value?.key ?? device.browserKey
  const credentials = browserCredentialsOf({ ...device, browserKey })
  if (credentials === undefined) return reject('browser_key_required')
  const evidenceIssuedAt = instantOf(evidence.issued_at)
  const approval = approve(session, { credentials, evidenceIssuedAt, verification, now })
  const set = { ...pinned, ...approval }
  const approved = yield* tables.sessions.move(session, MOVES.approve, { now, set })
  if (approved !== undefined) yield* storeBrowserKey(tables, device, added.value)
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
  const stepped = isUnanswered(session)
    ? yield* tables.sessions.move(session, MOVES.stepUp, { now, set: { ...pinned, stepUp } })
    : yield* tables.sessions.countMiss(session, { now, stepUp })
  if (stepped === undefined) return undefined
  yield* tables.sessions.note(session.id, note)
  return accept(stepped)
}
