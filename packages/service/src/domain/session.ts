import type {
  DeviceId,
  EndedReason,
  PulseVerification,
  SessionContext,
  SessionHint,
  SessionId,
  SessionState,
  StepUp,
  SubjectId,
  TenantId,
} from '@bonded/contract'
import { READABLE_AFTER_END_MS } from './lifetimes.ts'
import type { Policy } from './policy.ts'
import { MOVES, type Move } from './transitions.ts'

/** A time in milliseconds since the epoch. */
export type Instant = number

/** A session as it is stored. Its state is what was last written; `stateAt` says what it is now. */
export interface Session {
  readonly id: SessionId
  readonly tenantId: TenantId
  /** The root key its nonces, completion secret and watch token derive from. */
  readonly rootKeyId: string
  readonly state: SessionState
  /** Counts the stored events (states and hints), from 1. */
  readonly seq: number
  readonly hint: SessionHint | null
  readonly workflow: string
  readonly action: string
  /** As it was at creation: a later change of the workflow does not reach a running session. */
  readonly policy: Policy
  readonly createdAt: Instant
  /** Bonding moves it forward, never back. */
  readonly expiresAt: Instant
  /** The life it was created with; its codes end with that. */
  readonly sessionTtlMs: number
  readonly challengeTtlMs: number
  readonly bondedTtlMs: number
  /** When it left `pending`: the code shown froze then. */
  readonly pendingUntil: Instant | null
  readonly bondedAt: Instant | null
  readonly completedAt: Instant | null
  readonly endedAt: Instant | null
  readonly endedReason: EndedReason | null
  readonly context: SessionContext | null
  /** The customer the backend named at creation. */
  readonly wantedSubjectRef: string | null
  /** The customer that bonded. */
  readonly subjectRef: string | null
  /** Sealed: only the keyring opens it. Gone once no phone is awaited any more. */
  readonly sealedPhoneNumber: string | null
  /** The /24 or /48 of the browser's address, as the backend named it at creation. */
  readonly endUserNetwork: string | null
  /** The first Origin that used the watch token. */
  readonly requestingOrigin: string | null
  /** The phone that claimed it, or whose assertion was the first valid one. */
  readonly deviceId: DeviceId | null
  readonly claimedNonce: string | null
  readonly claimedAt: Instant | null
  readonly validAssertions: number
  /** SHA-256 of the payload that bonded it: how its repetition is recognised. */
  readonly bondDigest: string | null
  readonly verification: PulseVerification | null
  readonly stepUp: StepUp | null
}

/** A registered key. */
export interface Device {
  readonly id: DeviceId
  readonly subjectId: SubjectId
  readonly format: 'apple-app-attest' | 'android-key' | 'webauthn' | 'software'
  readonly keyId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly environment: 'sandbox' | 'production'
  readonly status: 'active' | 'suspect' | 'blocked' | 'removed'
  /** What its assertions name: an app id, or `software`. */
  readonly appId: string
  /** The last counter taken; the next must be higher. */
  readonly counter: number
  /** `issued_at` of the last assertion taken. */
  readonly lastIssuedAt: Instant | null
  readonly createdAt: Instant
  /** The device that approved this key; null for the first key of its subject. */
  readonly addedBy?: DeviceId | null | undefined
  /** Whether an operator has blocked the subject, and with it all of its devices. Absent: no. */
  readonly subjectBlocked?: boolean | undefined
  /** What the registration of a `webauthn` key showed. Where it is not known, nobody vouches for the key. */
  readonly webauthn?: WebauthnStanding | undefined
  /** What the registration of an `apple-app-attest` key said of the app, since iOS 27. */
  readonly build?: AppBuild | undefined
}

/** Where an app came from (4 is the App Store), and which build of it made the key. */
export interface AppBuild {
  readonly category: number | undefined
  readonly bundleVersion: string | undefined
}

/** How much a `webauthn` key says of a phone (protocol 6). */
export interface WebauthnStanding {
  /** Hardware known to a trusted root keeps it, and cannot give it away. */
  readonly attested: boolean
  /** Whether it may be copied to other phones (BE). Settled when the key is made. */
  readonly backupEligible: boolean
}

/** The state at an instant. Expiry is judged from the stored times, whether or not anybody has written it down. */
export function stateAt(session: Session, now: Instant): SessionState {
  const canExpire: readonly SessionState[] = MOVES.expire.from
  return canExpire.includes(session.state) && now >= session.expiresAt ? 'expired' : session.state
}

/** When it ended, if it has. */
export function endedAt(session: Session, now: Instant): Instant | null {
  if (session.endedAt !== null) return session.endedAt
  return stateAt(session, now) === 'expired' ? session.expiresAt : null
}

/** Whether GET still answers it: live, or ended less than an hour ago. */
export function isReadable(session: Session, now: Instant): boolean {
  const ended = endedAt(session, now)
  return ended === null || now < ended + READABLE_AFTER_END_MS
}

/** Whether the transition table lets it move this way now. */
export function mayMove(session: Session, move: Move, now: Instant): boolean {
  return move.from.includes(stateAt(session, now))
}

/** Whether a phone may still act on it: as long as the person can say no. */
export function awaitsPhone(session: Session, now: Instant): boolean {
  return mayMove(session, MOVES.decline, now)
}
