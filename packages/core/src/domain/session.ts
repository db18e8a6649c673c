import type {
  CompletionOutcome,
  DeviceId,
  EndedReason,
  PulseVerification,
  QuorumId,
  SessionContext,
  SessionHint,
  SessionId,
  SessionState,
  StepUp,
  SubjectId,
  TenantId,
} from '@bonded/contract'
import type { BrowserProofState } from './browser-proof.ts'
import type { BondProof } from './receipts.ts'
import type { Policy } from './policy.ts'

/** A time in milliseconds since the epoch. */
export type Instant = number

/**
 * A stored session. `state` is the state last written; `stateAt` of protocol/states
 * returns the state at an instant.
 */
export interface Session {
  readonly id: SessionId
  readonly tenantId: TenantId
  /** The root key of its nonces, completion secret and watch token. */
  readonly rootKeyId: string
  readonly state: SessionState
  /** Counts the stored events (states and hints), from 1. */
  readonly seq: number
  readonly hint: SessionHint | null
  readonly workflow: string
  readonly action: string
  /** The policy at creation. A later change of the workflow does not affect a running session. */
  readonly policy: Policy
  readonly createdAt: Instant
  /** A bond moves it later, never earlier. */
  readonly expiresAt: Instant
  /** The lifetime at creation. It bounds the rotation of challenges. */
  readonly sessionTtlMs: number
  readonly challengeTtlMs: number
  readonly bondedTtlMs: number
  /** When the session left `pending` and the challenge stopped rotating. */
  readonly pendingUntil: Instant | null
  readonly bondedAt: Instant | null
  /** When the backend said what came of the bond. In an expired session: after its end. */
  readonly completedAt: Instant | null
  readonly endedAt: Instant | null
  readonly endedReason: EndedReason | null
  /** Why the user declined, in their words. Only the tenant's backend reads it. */
  readonly declineNote: string | null
  /** What the backend said then, if anything. */
  readonly outcome: CompletionOutcome | null
  readonly context: SessionContext | null
  /** The subject that the backend named at creation. */
  readonly wantedSubjectRef: string | null
  /** The subject in whose inbox the session waits. Null for a session that a page shows. */
  readonly inboxSubjectId: SubjectId | null
  /** The quorum whose other sessions ask other people. Null for a session that asks alone. */
  readonly quorumId: QuorumId | null
  /** The subject that bonded. */
  readonly subjectRef: string | null
  /** Encrypted by the keyring. Deleted once the session awaits no phone. */
  readonly sealedPhoneNumber: string | null
  /** The /24 or /48 of the browser's address that the backend named at creation. */
  readonly endUserNetwork: string | null
  /** The first Origin that used the watch token. */
  readonly requestingOrigin: string | null
  /** The phone that claimed the session or sent its first valid assertion. */
  readonly deviceId: DeviceId | null
  readonly claimedNonce: string | null
  readonly claimedAt: Instant | null
  readonly validAssertions: number
  /** SHA-256 of the payload that bonded the session. It identifies a replay. */
  readonly bondDigest: string | null
  /** What the phone signed, for the receipt. Null where the service makes none. */
  readonly bondProof: BondProof | null
  /** When the receipt of the bond or the completion is due to be made; null if none is. */
  readonly receiptDueAt: Instant | null
  readonly verification: PulseVerification | null
  readonly stepUp: StepUp | null
  /** Null where the workflow does not require the browser, and until the phone has approved. */
  readonly browserProof: BrowserProofState | null
  /** Whether the tenant had a webhook endpoint at creation. Without one, no event is written. */
  readonly notifies: boolean
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
  /** The app id that its assertions must name, or `software`. */
  readonly appId: string
  /** The last accepted counter. The next one must be higher. */
  readonly counter: number
  /** `issued_at` of the last accepted assertion. */
  readonly lastIssuedAt: Instant | null
  readonly createdAt: Instant
  /** The device that approved this key; null for the first key of its subject. */
  readonly addedBy?: DeviceId | null | undefined
  /** Whether an operator has blocked the subject and thereby all its devices. Absent: no. */
  readonly subjectBlocked?: boolean | undefined
  /**
   * The result of the registration of a `webauthn` key. If absent, the key counts as unattested.
   */
  readonly webauthn?: WebauthnStanding | undefined
  /** What the registration of an `apple-app-attest` key states about the app, since iOS 27. */
  readonly build?: AppBuild | undefined
  /** The passkey that this phone registered for the browser. Absent: none. */
  readonly browserKey?: BrowserKey | undefined
}

/**
 * A passkey of a phone that answers in the browser that submits the form. It belongs to the phone's
 * record and is found only through it, so it can neither approve nor manage keys.
 */
export interface BrowserKey {
  readonly keyId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly rpId: string
  readonly counter: number
  readonly backupEligible: boolean
  readonly createdAt: Instant
}

/** The app's distribution channel (4 is the App Store) and the build that created the key. */
export interface AppBuild {
  readonly category: number | undefined
  readonly bundleVersion: string | undefined
}

/** What a `webauthn` key proves about a phone (protocol 6). */
export interface WebauthnStanding {
  /** Whether hardware with an attestation by a trusted root stores the key and cannot export it. */
  readonly attested: boolean
  /** Whether the key can be synced to other phones (BE). Fixed when the key is created. */
  readonly backupEligible: boolean
}
