import type { Nonces, NonceStanding } from '../domain/challenge.ts'
import type { Result } from '../domain/rejection.ts'
import type { Device, Instant, Session } from '../domain/session.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { VerifiedAssertion } from '../ports/devices.ts'
import type { Work } from '../ports/work.ts'

/** The facts about a phone and a session, read in one unit of work. */
export interface SessionFacts {
  /** When the facts were read. The call is decided by this instant. */
  readonly now: Instant
  readonly session: Session
  readonly tenant: Tenant
  readonly device: Device
  /** The tenant's pseudonym for the device's subject. */
  readonly subjectRef: string
  /** The same, if the subject has bonded at the tenant. */
  readonly knownAs: string | undefined
  /** Whether the tenant has blocked the device's subject. */
  readonly subjectBlockedHere: boolean
  /** The decayed continuity of the device's bonds with this tenant; undefined without a bond. */
  readonly continuity: number | undefined
  /** Whether a bond of the device with this tenant was completed. */
  readonly hasCompleted: boolean
  /** Whether an older phone of the subject is active, where the rules need to know it. */
  readonly olderPhone: boolean
  /** The counted failures of this device on this session. */
  readonly failures: number
}

/** The facts about a phone's own call on a session. */
export interface PhoneFacts extends SessionFacts {
  readonly nonce: string
  readonly nonces: Nonces
  /** What the nonce of the call is to the session. */
  readonly nonceStanding: () => NonceStanding
  /** Whether the phone may act with the nonce, or could when the session ended. */
  readonly isLatestNonce: () => boolean
}

/** What the phone can show its user, and how it answers in the browser. */
interface ReadinessFacts {
  /** What the phone shows beyond plain text. */
  readonly shows: readonly string[]
  /** Whether the phone registers a browser key with its approval. */
  readonly bringsBrowserKey: boolean
}

/**
 * What a row asks for only when it is reached: verifying takes time, and a counter that is raised
 * stays raised. Each is computed once for a call.
 */
interface SignedFacts {
  readonly assertion: () => Result<VerifiedAssertion>
  /** Uses the counter of the assertion up. False if it did not rise. */
  readonly raiseCounter: () => boolean | Work<boolean>
}

/** A signed request of a device about itself or its subject. */
interface DeviceFacts extends SignedFacts {
  readonly now: Instant
  readonly device: Device
}

interface TimedFacts {
  readonly issuedAt: Instant
}

/** The facts that the checks of each call look at. */
export interface CallFacts {
  /** A phone reads the session. */
  readonly read: SessionFacts
  readonly claim: PhoneFacts & ReadinessFacts
  readonly decline: PhoneFacts
  readonly evidence: PhoneFacts &
    SignedFacts &
    TimedFacts & {
      /** Whether the phone says that it verified its user more than 30 s after `issued_at`. */
      readonly localAuthIsAhead: boolean
    }
  readonly attest: PhoneFacts &
    ReadinessFacts &
    SignedFacts &
    TimedFacts & {
      /** Whether the service made this evidence for this session, nonce, device and tenant. */
      readonly evidenceIsOurs: () => boolean
      readonly evidenceIsCurrent: boolean
    }
  readonly browser: SessionFacts &
    SignedFacts & {
      /** Whether the page that asked may use the passkeys: the service's frame always may. */
      readonly pageMayProve: boolean
      /** Whether the credential is one of the phone that approved. */
      readonly isItsCredential: boolean
      readonly clientDataIsText: boolean
    }
  readonly recover: Omit<DeviceFacts, 'device'> & {
    /** Undefined for a challenge that the service did not issue. */
    readonly challengeExpiresAt: Instant | undefined
    /** Undefined for a key that no device has. */
    readonly device: Device | undefined
    /** Uses the challenge up. False if it was used before. */
    readonly useChallenge: () => boolean | Work<boolean>
  }
  readonly token: DeviceFacts & TimedFacts
  readonly add: DeviceFacts & TimedFacts
  /** A device lists the requests that wait for its user. */
  readonly inbox: DeviceFacts & TimedFacts
  /** A device ends the pause of a tenant in the inbox of its user. */
  readonly resume: DeviceFacts & TimedFacts
  /** A device sets where its push service wakes it. */
  readonly push: DeviceFacts & TimedFacts
  readonly remove: DeviceFacts &
    TimedFacts & {
      /** Whether the device removes itself. */
      readonly isItself: boolean
    }
}

/** A call whose checks are a column of the table. */
export type Call = keyof CallFacts
