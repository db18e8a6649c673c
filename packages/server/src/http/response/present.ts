import type {
  BrowserFrame,
  CreatedSession,
  EndedReason,
  FullSession,
  Invitation,
  PhoneSession,
  PublicSession,
} from '@bonded/contract'
import { WATCH_PARAMETER } from '@bonded/contract'
import { approvedLeg, bondedCommitment, requiresBrowser } from '@bonded/core/domain/browser-leg'
import {
  acceptedIndex,
  challengeOf,
  claimedNonceExpiresAt,
  shownChallenge,
  stepNonce,
} from '@bonded/core/domain/challenge'
import { iso } from '@bonded/core/domain/iso'
import { BROWSER_LEG_TTL_MS } from '@bonded/core/domain/lifetimes'
import { needsAttestedKey } from '@bonded/core/domain/key-rules'
import type { Tenant } from '@bonded/core/domain/tenant'
import { type Device, type Instant, type Session } from '@bonded/core/domain/session'
import type { PhoneReading } from '@bonded/core/operations/read-session'
import { noncesOf, type Service } from '@bonded/core/operations/service'

/**
 * Presents the full view, for the tenant's backend.
 *
 * @param browserSecret the secret that came with the form, where the workflow requires the browser
 */
export function presentFull(
  service: Service,
  session: Session,
  browserSecret?: string,
): FullSession {
  const now = service.clock.now()
  const shared = sharedMembers(service, session, { now })
  const state = shared.state
  const proved = state === 'bonded' || state === 'completed'
  const token = watchToken(service, session)
  return {
    ...shared,
    // A backend that passes only the described members to its page still passes the watch token.
    websocket_url: `${shared.websocket_url}?${WATCH_PARAMETER}=${token}`,
    qr_svg_url: qrSvgUrl(session, shared.nonce),
    qr_content: service.settings.qrContent,
    verification:
      proved && isFromBrowser(service, session, browserSecret) ? session.verification : null,
    context: session.context,
    subject_ref: proved ? session.subjectRef : null,
    watch_token: token,
    step_up: state === 'step_up_required' ? session.stepUp : null,
    hint: state === 'expired' ? null : session.hint,
    ended_reason: state === 'killed' ? session.endedReason : null,
    outcome: session.outcome,
  }
}

/**
 * Whether the backend presents the secret of the browser that proved itself, or needs none. Without
 * it, a form from another browser could use the bond.
 */
function isFromBrowser({ keys }: Service, session: Session, secret: string | undefined): boolean {
  if (!requiresBrowser(session.policy)) return true
  const commitment = bondedCommitment(session)
  return (
    commitment !== undefined && secret !== undefined && keys.same(keys.sha256(secret), commitment)
  )
}

/** Presents the full view with the completion secret. Only the response to create contains it. */
export function presentCreated(service: Service, session: Session): CreatedSession {
  const completion_secret = service.keys.completionSecret(session.rootKeyId, session.id).reveal()
  return { ...presentFull(service, session), completion_secret }
}

/** Presents the public view, for a browser. */
export function presentPublic(
  service: Service,
  { session, tenant }: { session: Session; tenant: Tenant },
): PublicSession {
  const now = service.clock.now()
  const shared = sharedMembers(service, session, { now })
  return {
    ...shared,
    qr_svg_url: qrSvgUrl(session, shared.nonce),
    qr_content: service.settings.qrContent,
    tenant_name: tenant.name,
    tenant_logo_url: logoUrl(tenant),
    verification: null,
    watch_token: watchToken(service, session),
    hint: shared.state === 'expired' ? null : session.hint,
    ended_reason: shared.state === 'killed' ? publicReason(session.endedReason) : null,
    outcome: session.outcome,
    browser: browserRequest(service, session),
  }
}

/**
 * How the page's browser proves itself, while the session waits for it. Without related origins,
 * the frame alone learns which credentials the user has.
 */
function browserRequest(service: Service, session: Session): PublicSession['browser'] {
  const { publicOrigin, relatedOrigins } = service.settings
  const asked = credentialRequest(service, session)
  if (asked === undefined) return null
  const frame_url = publicOrigin + browserFramePath(session.tenantId)
  return relatedOrigins === true
    ? { ...asked, frame_url }
    : { timeout_ms: asked.timeout_ms, frame_url }
}

/** Presents a session to the service's frame. */
export function presentFrame(
  service: Service,
  { session, tenant }: { session: Session; tenant: Tenant },
): BrowserFrame | undefined {
  const asked = credentialRequest(service, session)
  return (
    asked && {
      tenant_id: session.tenantId,
      tenant_name: tenant.name,
      workflow: session.workflow,
      action: session.action,
      ...titlesOf(tenant, session),
      ...asked,
    }
  )
}

/** The credentials that may prove a browser, and for how long, while the session waits for it. */
function credentialRequest(
  { clock }: Service,
  session: Session,
): Pick<BrowserFrame, 'rp_id' | 'allow_credentials' | 'timeout_ms'> | undefined {
  const leg = approvedLeg(session)
  const now = clock.now()
  if (leg === undefined || now >= session.expiresAt) return undefined
  const leftMs = Math.max(0, Math.min(session.expiresAt, leg.evidenceUntil) - now)
  return {
    rp_id: leg.rpId,
    allow_credentials: [...leg.credentials],
    timeout_ms: Math.min(BROWSER_LEG_TTL_MS, leftMs),
  }
}

/** Presents what a phone without a key may know of a session. */
export function presentInvitation(
  { settings }: Service,
  { session, tenant }: { session: Session; tenant: Tenant },
): Invitation {
  return {
    state: session.state,
    tenant_name: tenant.name,
    tenant_logo_url: logoUrl(tenant),
    requesting_origin: session.requestingOrigin,
    registration: {
      rp_id: settings.rpId,
      attestation: needsAttestedKey(session) ? 'required' : 'none',
      formats: [...session.policy.formats],
      names_user: session.wantedSubjectRef !== null,
    },
  }
}

/** Presents the phone view, for a device that knows the session's nonce. */
export function presentPhone(
  service: Service,
  { session, tenant, nonce }: PhoneReading,
  device: Device,
): PhoneSession {
  const now = service.clock.now()
  const { state } = session
  const pinned = session.deviceId === device.id
  const shown =
    state === 'step_up_required' && pinned ? stepNonce(session, noncesOf(service, session)) : nonce
  const proved = pinned && (state === 'bonded' || state === 'completed')
  return {
    ...sharedMembers(service, session, { now, nonce: shown, pinned }),
    verification: proved ? session.verification : null,
    tenant_name: tenant.name,
    requesting_origin: session.requestingOrigin,
    ...titlesOf(tenant, session),
    context: session.context,
    created_at: iso(session.createdAt),
    step_up: state === 'step_up_required' && pinned ? session.stepUp : null,
    outcome: session.outcome,
    ...(pinned ? { watch_token: watchToken(service, session) } : {}),
  }
}

/**
 * The titles of a session's workflow and action, as the tenant has them now. Null where it has none
 * or no longer has the workflow.
 */
function titlesOf(
  tenant: Tenant,
  { workflow, action }: Session,
): Pick<PhoneSession, 'workflow_title' | 'action_title'> {
  const { title, action_titles: titles = {} } =
    tenant.workflows.find(({ name }) => name === workflow) ?? {}
  return {
    workflow_title: title ?? null,
    action_title: Object.hasOwn(titles, action) ? (titles[action] ?? null) : null,
  }
}

function logoUrl({ logo }: Tenant): string | null {
  return logo === undefined ? null : logoPath(logo)
}

/** Maps an ended reason for browsers: the user's decision, but never which proof failed. */
export function publicReason(reason: EndedReason | null): PublicSession['ended_reason'] {
  switch (reason) {
    case null:
      return null
    case 'user_declined':
    case 'user_unexpected':
    case 'canceled':
      return reason
    case 'policy_not_met':
    case 'too_many_attempts':
      return 'not_verified'
    case 'killed_by_tenant':
    case 'killed_by_operator':
      return 'killed'
  }
}

/** Returns the path of the service's frame in the pages of a tenant. */
export function browserFramePath(tenantId: string): string {
  return `/frame/${tenantId}`
}

/** Returns the path of a tenant's logo. A name is never used for another file. */
export function logoPath(name: string): string {
  return `/v1/logos/${name}`
}

/** Returns the path of the QR code image. */
export function qrSvgUrl(session: Session, nonce: string): string {
  return `/v1/sessions/${session.id}/qr.svg?nonce=${nonce}`
}

/** Returns the app's link, which opens the app by its scheme. */
export function qrPayload({ settings }: Service, session: Session, nonce: string): string {
  return `${settings.appScheme}://bond?session_id=${session.id}&nonce=${nonce}`
}

/** Returns the content of the QR code: the app's link, or the handoff link for any camera. */
export function qrText(service: Service, session: Session, nonce: string): string {
  return service.settings.qrContent === 'universal_link'
    ? universalLink(service, session, nonce)
    : qrPayload(service, session, nonce)
}

/** Returns the handoff link, which a phone's browser or the app opens. */
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
  const { state } = session
  const shown = shownChallenge(session, now)
  const nonces = noncesOf(service, session)
  const nonce = view.nonce ?? nonces.nonceAt(shown.index)
  const ended = state === 'completed' || state === 'killed' || state === 'expired'
  const waiting = state === 'pending'
  // A claimed nonce stays valid after its challenge has expired.
  const claimedUntil = view.pinned && waiting ? claimedNonceExpiresAt(session) : null
  const stepping = view.pinned === true && state === 'step_up_required'
  // A phone may have scanned the previous QR code, which expires earlier than the current one.
  const scannedIndex =
    view.nonce === undefined ? undefined : acceptedIndex(session, view.nonce, { now, nonces })
  const nonceExpiresAt =
    scannedIndex === undefined ? shown.expiresAt : challengeOf(session, scannedIndex).expiresAt
  const challengeExpiresAt = stepping ? session.expiresAt : (claimedUntil ?? nonceExpiresAt)
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
