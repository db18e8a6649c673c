import type { PulseVerification, StepUp } from '@bonded/contract'
import { BROWSER_PROOF_TTL_MS, EVIDENCE_TTL_MS, MAX_VALID_ASSERTIONS } from './lifetimes.ts'
import type { Policy } from './policy.ts'
import { hasBond, usesStepNonce } from '../protocol/states.ts'
import type { Device, Instant, Session } from './session.ts'

/** The keys of a phone that may answer in the browser: those of one relying party id. */
export interface BrowserCredentials {
  readonly rpId: string
  readonly credentials: readonly string[]
}

/**
 * Returns the credentials by which a phone can prove a browser: its own passkey, and the browser
 * key that it has registered. No other key of its subject. Undefined if it has neither.
 */
export function browserCredentialsOf(device: Device): BrowserCredentials | undefined {
  const { browserKey } = device
  const own = device.format === 'webauthn' ? device : undefined
  if (browserKey === undefined) return own && { rpId: own.appId, credentials: [own.keyId] }
  const { rpId, keyId } = browserKey
  // One request asks for one relying party id.
  return { rpId, credentials: own?.appId === rpId ? [own.keyId, keyId] : [keyId] }
}

/**
 * What the service keeps of a phone's approval until the browser proves itself. The credentials are
 * those of the phone that approved.
 */
export interface WaitingApproval extends BrowserCredentials {
  /** Until when the evidence of the approval is current. */
  readonly evidenceUntil: Instant
  readonly verification: PulseVerification
  /** `seq` of the approval: failed proofs count for each approval. */
  readonly seq: number
}

/** The browser's part of a session whose workflow requires it. */
export type BrowserProofState =
  /** The phone has approved, and the browser has not proved itself. */
  | { readonly approved: WaitingApproval }
  /** The commitment of the browser that proved itself. */
  | { readonly commitment: string }

/** Whether the browser must prove itself before the session bonds. */
export function requiresBrowser({ require }: Pick<Policy, 'require'>): boolean {
  return require.includes('browser')
}

/** The approval that waits for the browser now, if any. */
export function waitingApproval(session: Session): WaitingApproval | undefined {
  const { browserProof } = session
  return usesStepNonce(session) && browserProof !== null && 'approved' in browserProof
    ? browserProof.approved
    : undefined
}

/** The commitment of the browser that bonded the session, while its bond counts. */
export function bondedCommitment(session: Session): string | undefined {
  return hasBond(session) ? commitmentOf(session) : undefined
}

/** The commitment of the browser that bonded the session, also after its end. */
export function commitmentOf({ browserProof }: Session): string | undefined {
  return browserProof !== null && 'commitment' in browserProof ? browserProof.commitment : undefined
}

/** Whether the browser has proved itself, also after the session has ended. */
export function wasProvedByBrowser({ browserProof }: Session): boolean {
  return browserProof !== null && 'commitment' in browserProof
}

/** What a session stores when its phone has approved. */
export function approve(
  session: Session,
  of: {
    readonly credentials: BrowserCredentials
    readonly evidenceIssuedAt: Instant
    readonly verification: PulseVerification
    readonly now: Instant
  },
): { browserProof: BrowserProofState; stepUp: StepUp; expiresAt: Instant } {
  const { credentials, evidenceIssuedAt, verification, now } = of
  return {
    browserProof: {
      approved: {
        ...credentials,
        // From the evidence's own age. Its `expires_at` is the end of the session as it was then,
        // which this approval extends.
        evidenceUntil: evidenceIssuedAt + EVIDENCE_TTL_MS,
        verification,
        seq: session.seq + 1,
      },
    },
    stepUp: awaiting(session, 'browser', 'browser_not_confirmed'),
    // A further approval extends no more than the first one can.
    expiresAt: Math.max(
      session.expiresAt,
      Math.min(now, session.createdAt + session.sessionTtlMs) + BROWSER_PROOF_TTL_MS,
    ),
  }
}

/** What a session stores when its phone must approve again. */
export function recall(
  session: Session,
  reason: 'evidence_expired' | 'browser_proof_failed',
): { browserProof: null; stepUp: StepUp } {
  return { browserProof: null, stepUp: awaiting(session, 'local_auth', reason) }
}

function awaiting({ validAssertions }: Session, required: string, reason: string): StepUp {
  return {
    required: [required],
    attempts_left: MAX_VALID_ASSERTIONS - validAssertions,
    reasons: [reason],
  }
}
