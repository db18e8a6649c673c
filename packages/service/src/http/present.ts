import type {
  CreatedSession,
  EndedReason,
  FullSession,
  PhoneSession,
  PublicSession,
} from '@bonded/contract'
import {
  acceptedIndex,
  challengeOf,
  claimedNonceExpiresAt,
  shownChallenge,
  stepNonce,
} from '../domain/challenge.ts'
import { iso } from '../domain/iso.ts'
import { type Device, type Instant, type Session, stateAt } from '../domain/session.ts'
import type { PhoneReading } from '../operations/read-session.ts'
import { noncesOf, type Service } from '../operations/service.ts'

/** The full view: for the customer's backend. */
export function presentFull(service: Service, session: Session): FullSession {
  const now = service.clock.now()
  const shared = sharedMembers(service, session, { now })
  const state = shared.state
  const proved = state === 'bonded' || state === 'completed'
  return {
    ...shared,
    qr_svg_url: qrSvgUrl(session, shared.nonce),
    qr_content: service.settings.qrContent,
    verification: proved ? session.verification : null,
    context: session.context,
    subject_ref: proved ? session.subjectRef : null,
    watch_token: watchToken(service, session),
    step_up: state === 'step_up_required' ? session.stepUp : null,
    hint: state === 'expired' ? null : session.hint,
    ended_reason: state === 'killed' ? session.endedReason : null,
  }
}

/** The full view with the completion secret: the answer to create, and to nothing else. */
export function presentCreated(service: Service, session: Session): CreatedSession {
  const completion_secret = service.keys.completionSecret(session.rootKeyId, session.id).reveal()
  return { ...presentFull(service, session), completion_secret }
}

/** The public view: for a browser. */
export function presentPublic(service: Service, session: Session): PublicSession {
  const now = service.clock.now()
  const shared = sharedMembers(service, session, { now })
  return {
    ...shared,
    qr_svg_url: qrSvgUrl(session, shared.nonce),
    qr_content: service.settings.qrContent,
    verification: null,
    watch_token: watchToken(service, session),
    hint: shared.state === 'expired' ? null : session.hint,
    ended_reason: shared.state === 'killed' ? publicReason(session.endedReason) : null,
  }
}

/** The phone view: for the device that holds the nonce it shows. */
export function presentPhone(
  service: Service,
  { session, tenant, nonce }: PhoneReading,
  device: Device,
): PhoneSession {
  const now = service.clock.now()
  const state = stateAt(session, now)
  const pinned = session.deviceId === device.id
  const shown =
    state === 'step_up_required' && pinned ? stepNonce(session, noncesOf(service, session)) : nonce
  const proved = pinned && (state === 'bonded' || state === 'completed')
  return {
    ...sharedMembers(service, session, { now, nonce: shown, pinned }),
    verification: proved ? session.verification : null,
    tenant_name: tenant.name,
    requesting_origin: session.requestingOrigin,
    context: session.context,
    created_at: iso(session.createdAt),
    step_up: state === 'step_up_required' && pinned ? session.stepUp : null,
    ...(pinned ? { watch_token: watchToken(service, session) } : {}),
  }
}

/** What a browser may know of why a session was killed: what the person said, never which proof failed. */
export function publicReason(reason: EndedReason | null): PublicSession['ended_reason'] {
  switch (reason) {
    case null:
      return null
    case 'user_declined':
    case 'user_unexpected':
      return reason
    case 'policy_not_met':
    case 'too_many_attempts':
      return 'not_verified'
    case 'killed_by_tenant':
    case 'killed_by_operator':
      return 'killed'
  }
}

/** The path of the code as an image. */
export function qrSvgUrl(session: Session, nonce: string): string {
  return `/v1/sessions/${session.id}/qr.svg?nonce=${nonce}`
}

/** What a phone scans. */
export function qrPayload({ settings }: Service, session: Session, nonce: string): string {
  return `${settings.appScheme}://bond?session_id=${session.id}&nonce=${nonce}`
}

/** What the QR code encodes: the app's link, or the one that any phone's camera opens. */
export function qrText(service: Service, session: Session, nonce: string): string {
  return service.settings.qrContent === 'universal_link'
    ? universalLink(service, session, nonce)
    : qrPayload(service, session, nonce)
}

/** What a phone's own browser opens. */
export function universalLink({ settings }: Service, session: Session, nonce: string): string {
  return `${settings.publicOrigin}/bond?session_id=${session.id}&nonce=${nonce}`
}

function watchToken({ keys }: Service, session: Session): string {
  return keys.watchToken(session.rootKeyId, session.id).reveal()
}

function sharedMembers(
  service: Service,
  session: Session,
  view: { now: Instant; nonce?: string; pinned?: boolean },
) {
  const { now } = view
  const state = stateAt(session, now)
  const shown = shownChallenge(session, now)
  const nonces = noncesOf(service, session)
  const nonce = view.nonce ?? nonces.nonceAt(shown.index)
  const ended = state === 'completed' || state === 'killed' || state === 'expired'
  const waiting = state === 'pending'
  // A claimed nonce outlives the code it was read from.
  const claimedUntil = view.pinned && waiting ? claimedNonceExpiresAt(session) : null
  const stepping = view.pinned === true && state === 'step_up_required'
  // A phone may have read the code before the one on show, which ends earlier.
  const read =
    view.nonce === undefined ? undefined : acceptedIndex(session, view.nonce, { now, nonces })
  const codeEndsAt = read === undefined ? shown.expiresAt : challengeOf(session, read).expiresAt
  const challengeExpiresAt = stepping ? session.expiresAt : (claimedUntil ?? codeEndsAt)
  const left = (until: Instant, running: boolean) => (running ? Math.max(0, until - now) : 0)
  return {
    id: session.id,
    state,
    nonce,
    qr_payload: qrPayload(service, session, nonce),
    api_base_url: service.settings.publicOrigin,
    universal_link: universalLink(service, session, nonce),
    websocket_url: `${service.settings.publicOrigin.replace(/^http/, 'ws')}/sessions/${session.id}`,
    challenge_expires_at: iso(challengeExpiresAt),
    expires_at: iso(session.expiresAt),
    workflow: session.workflow,
    action: session.action,
    tenant_id: session.tenantId,
    server_time: iso(now),
    expires_in_ms: left(session.expiresAt, !ended),
    challenge_expires_in_ms: left(challengeExpiresAt, waiting || stepping),
    challenge_rotates_in_ms: left(shown.rotatesAt, waiting),
    seq: session.seq,
  }
}
