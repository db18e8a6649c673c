import type { Secret } from '@bonded/contract'
import { bondedCommitment, requiresBrowser } from '../../domain/browser-proof.ts'
import {
  acceptedIndex,
  challengeOf,
  claimedNonceExpiresAt,
  shownChallenge,
  stepNonce,
} from '../../domain/challenge.ts'
import type { Device, Instant, Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { isUnanswered, usesStepNonce } from '../../protocol/states.ts'
import type { PhoneReading } from './read-session.ts'
import { noncesFor, noncesOf, type Service } from '../service.ts'

/** A session, with the nonce that a reader sees and the times of its challenge. */
export interface SessionView {
  readonly session: Session
  readonly now: Instant
  readonly nonce: string
  readonly rotatesAt: Instant
  readonly challengeExpiresAt: Instant
}

/** What a page reads that watches the session. */
export interface WatchedView extends SessionView {
  readonly watchToken: Secret
}

export interface BackendView extends WatchedView {
  /**
   * Whether the backend may use the bond. Not without the secret of the browser that proved itself,
   * because a form from another browser could use it; nor by a session of a quorum alone.
   */
  readonly isUsable: boolean
}

export interface PhoneView extends SessionView {
  readonly tenant: Tenant
  /** Only for the phone that holds the session. */
  readonly watchToken: Secret | undefined
}

/** Derives what every reader sees. */
export function viewOf(service: Service, session: Session): SessionView {
  const now = service.clock.now()
  const { index, rotatesAt, expiresAt } = shownChallenge(session, now)
  const nonce = noncesOf(service, session).nonceAt(index)
  return { session, now, nonce, rotatesAt, challengeExpiresAt: expiresAt }
}

/** Derives what a browser with the session's watch token reads. */
export function viewForBrowser(service: Service, session: Session): WatchedView {
  return { ...viewOf(service, session), watchToken: watchTokenOf(service, session) }
}

/**
 * Derives what the tenant's backend reads.
 *
 * @param browserSecret the secret that came with the form, where the workflow requires the browser
 */
export function viewForBackend(
  service: Service,
  session: Session,
  browserSecret?: string,
): BackendView {
  const isFromBrowser =
    !requiresBrowser(session.policy) ||
    opensCommitment(service, bondedCommitment(session), browserSecret)
  const isUsable = isFromBrowser && session.quorumId === null
  return { ...viewForBrowser(service, session), isUsable }
}

/** Derives what the tenant's backend reads of a session beside the others of its quorum. */
export function viewInQuorum(service: Service, session: Session): BackendView {
  return { ...viewForBrowser(service, session), isUsable: true }
}

/** Derives what a device reads that knows a nonce of the session. */
export function viewForPhone(
  service: Service,
  { session, tenant, nonce }: PhoneReading,
  device: Device,
): PhoneView {
  const now = service.clock.now()
  const nonces = noncesFor(service, session, device)
  const shown = shownChallenge(session, now)
  const view = { session, tenant, now, nonce, rotatesAt: shown.rotatesAt }
  const watchToken = session.deviceId === device.id ? watchTokenOf(service, session) : undefined
  if (watchToken !== undefined && usesStepNonce(session))
    return {
      ...view,
      watchToken,
      nonce: stepNonce(session, nonces),
      challengeExpiresAt: session.expiresAt,
    }
  // A claimed nonce stays valid after its challenge has expired.
  const isClaimed = watchToken !== undefined && isUnanswered(session)
  // A phone may have scanned the previous QR code, which expires earlier than the current one.
  const scanned = acceptedIndex(session, nonce, { now, nonces }) ?? shown.index
  const challengeExpiresAt =
    (isClaimed ? claimedNonceExpiresAt(session) : null) ?? challengeOf(session, scanned).expiresAt
  return { ...view, watchToken, challengeExpiresAt }
}

/** Derives the secret with which the backend completes the session. */
export function completionSecretOf({ keys }: Service, session: Session): Secret {
  return keys.completionSecret(session.rootKeyId, session.id)
}

function watchTokenOf({ keys }: Service, session: Session): Secret {
  return keys.watchToken(session.rootKeyId, session.id)
}

/** Whether a secret is the one that the browser has committed to. */
export function opensCommitment(
  { keys }: Service,
  commitment: string | undefined,
  secret: string | undefined,
): boolean {
  return (
    commitment !== undefined && secret !== undefined && keys.same(keys.sha256(secret), commitment)
  )
}
