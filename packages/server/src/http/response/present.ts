import { hash } from 'node:crypto'
import type {
  BrowserFrame,
  CreatedSession,
  EndedReason,
  FullSession,
  Invitation,
  PhoneSession,
  PublicSession,
  Secret,
} from '@bonded/contract'
import { credentialName, isAmount, WATCH_PARAMETER } from '@bonded/contract'
import { waitingApproval, commitmentOf, requiresBrowser } from '@bonded/core/domain/browser-proof'
import { iso, isoOrNull } from '@bonded/core/domain/iso'
import { needsAttestedKey } from '@bonded/core/domain/key-rules'
import { BROWSER_PROOF_TTL_MS } from '@bonded/core/domain/lifetimes'
import type { Instant, Session } from '@bonded/core/domain/session'
import { type Tenant, titlesOf } from '@bonded/core/domain/tenant'
import type { Invited } from '@bonded/core/operations/phone/read-invitation'
import type { Settings } from '@bonded/core/operations/service'
import type {
  BackendView,
  PhoneView,
  SessionView,
  WatchedView,
} from '@bonded/core/operations/session/session-view'

/** Presents the full view, for the tenant's backend. */
export function presentFull(settings: Settings, view: BackendView): FullSession {
  const { session, isUsable } = view
  const shared = sharedMembers(settings, view)
  const { state } = session
  const proved = state === 'bonded' || state === 'completed'
  const watch_token = view.watchToken.reveal()
  return {
    ...shared,
    // A backend that passes only the described members to its page still passes the watch token.
    websocket_url: `${shared.websocket_url}?${WATCH_PARAMETER}=${watch_token}`,
    qr_svg_url: qrSvgUrl(view),
    qr_content: settings.qrContent,
    verification: proved && isUsable ? session.verification : null,
    context: session.context,
    subject_ref: proved ? session.subjectRef : null,
    watch_token,
    step_up: state === 'step_up_required' ? session.stepUp : null,
    hint: state === 'expired' ? null : session.hint,
    ended_reason: state === 'killed' ? session.endedReason : null,
    decline_note: session.declineNote,
    outcome: session.outcome,
  }
}

/** Presents the full view with the completion secret. Only the response to create contains it. */
export function presentCreated(
  settings: Settings,
  view: BackendView,
  completionSecret: Secret,
): CreatedSession {
  return { ...presentFull(settings, view), completion_secret: completionSecret.reveal() }
}

/** Presents the public view, for a browser. */
export function presentPublic(
  settings: Settings,
  view: WatchedView,
  tenant: Tenant,
): PublicSession {
  const { session } = view
  const { state } = session
  return {
    ...sharedMembers(settings, view),
    qr_svg_url: qrSvgUrl(view),
    qr_content: settings.qrContent,
    tenant_name: tenant.name,
    tenant_logo_url: logoUrl(tenant),
    verification: null,
    watch_token: view.watchToken.reveal(),
    hint: state === 'expired' ? null : session.hint,
    ended_reason: endedReason(session),
    outcome: session.outcome,
    browser: browserRequest(settings, view),
    ...provedBrowser(session),
  }
}

/** Names the browser that has proved itself, so that no other one takes the bond for its own. */
export function provedBrowser(session: Session): Pick<PublicSession, 'browser_commitment'> {
  const commitment = commitmentOf(session)
  return commitment === undefined ? {} : { browser_commitment: commitment }
}

/** How the page's browser proves itself, while the session waits for it. */
function browserRequest(
  { publicOrigin, relatedOrigins }: Settings,
  { session, now }: SessionView,
): PublicSession['browser'] {
  const asked = credentialRequest(session, now)
  if (asked === undefined) return null
  const frame_url = publicOrigin + browserFramePath(session.tenantId)
  return relatedOrigins === true
    ? { ...asked, frame_url }
    : { timeout_ms: asked.timeout_ms, frame_url }
}

/** Presents a session to the service's frame. */
export function presentFrame(
  session: Session,
  { tenant, now }: { tenant: Tenant; now: Instant },
): BrowserFrame | undefined {
  const asked = credentialRequest(session, now)
  return (
    asked && {
      tenant_id: session.tenantId,
      tenant_name: tenant.name,
      workflow: session.workflow,
      action: session.action,
      ...titlesOf(tenant, session),
      amount: session.context?.display.find(({ value }) => isAmount(value))?.value ?? null,
      ...asked,
    }
  )
}

/**
 * The relying party and the time that are left for the proof, while the session waits for it. No
 * response names a credential: a page below the relying party id could have the browser delete it,
 * and two tenants could compare it.
 */
function credentialRequest(
  session: Session,
  now: Instant,
):
  | Pick<BrowserFrame, 'rp_id' | 'allow_credentials' | 'credential_hashes' | 'timeout_ms'>
  | undefined {
  const approval = waitingApproval(session)
  if (approval === undefined || now >= session.expiresAt) return undefined
  const leftMs = Math.max(0, Math.min(session.expiresAt, approval.evidenceUntil) - now)
  return {
    rp_id: approval.rpId,
    allow_credentials: [],
    credential_hashes: approval.credentials.map((id) =>
      hash('sha256', credentialName(session.id, id), 'base64url'),
    ),
    timeout_ms: Math.min(BROWSER_PROOF_TTL_MS, leftMs),
  }
}

/** Presents what a phone without a key may know of a session. */
export function presentInvitation(settings: Settings, { session, tenant }: Invited): Invitation {
  return {
    state: session.state,
    ended_reason: endedReason(session),
    tenant_name: tenant.name,
    tenant_logo_url: logoUrl(tenant),
    requesting_origin: session.requestingOrigin,
    registration: {
      rp_id: settings.rpId,
      attestation: needsAttestedKey(session) ? 'required' : 'none',
      formats: [...session.policy.formats],
      browser_key: requiresBrowser(session.policy) ? 'required' : 'none',
      names_user: session.wantedSubjectRef !== null,
    },
  }
}

/** Presents the phone view, for a device that knows the session's nonce. */
export function presentPhone(settings: Settings, view: PhoneView): PhoneSession {
  const { session, tenant, watchToken } = view
  const { state } = session
  const pinned = watchToken !== undefined
  const proved = pinned && (state === 'bonded' || state === 'completed')
  return {
    ...sharedMembers(settings, view, pinned),
    verification: proved ? session.verification : null,
    tenant_name: tenant.name,
    requesting_origin: session.requestingOrigin,
    ...titlesOf(tenant, session),
    context: session.context,
    created_at: iso(session.createdAt),
    step_up: state === 'step_up_required' && pinned ? session.stepUp : null,
    ended_reason: endedReason(session),
    outcome: session.outcome,
    ...(pinned ? { watch_token: watchToken.reveal() } : {}),
  }
}

function logoUrl({ logo }: Tenant): string | null {
  return logo === undefined ? null : logoPath(logo)
}

function endedReason({ state, endedReason: reason }: Session): PublicSession['ended_reason'] {
  return state === 'killed' ? publicReason(reason) : null
}

/** Maps an ended reason for browsers and phones, which never read which proof failed. */
export function publicReason(reason: EndedReason | null): PublicSession['ended_reason'] {
  switch (reason) {
    case null:
      return null
    case 'user_declined':
    case 'user_unexpected':
    case 'canceled':
    case 'decided':
      return reason
    case 'policy_not_met':
    case 'too_many_attempts':
      return 'not_verified'
    case 'tenant_suspended':
      return 'suspended'
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
export function qrSvgUrl({ session, nonce }: Shown): string {
  return `/v1/sessions/${session.id}/qr.svg?nonce=${nonce}`
}

/** Returns the app's link, which opens the app by its scheme. */
export function qrPayload({ appScheme }: Settings, { session, nonce }: Shown): string {
  return `${appScheme}://bond?session_id=${session.id}&nonce=${nonce}`
}

/** Returns the content of the QR code: the app's link, or the handoff link for any camera. */
export function qrText(settings: Settings, shown: Shown): string {
  return settings.qrContent === 'universal_link'
    ? universalLink(settings, shown)
    : qrPayload(settings, shown)
}

/** Returns the handoff link, which a phone's browser or the app opens. */
export function universalLink({ publicOrigin }: Settings, { session, nonce }: Shown): string {
  return `${publicOrigin}/bond?session_id=${session.id}&nonce=${nonce}`
}

type Shown = Pick<SessionView, 'session' | 'nonce'>

/** @param pinned whether the reader is the phone that holds the session */
function sharedMembers(settings: Settings, view: SessionView, pinned = false) {
  const { session, now, nonce, rotatesAt, challengeExpiresAt } = view
  const { state } = session
  const ended = state === 'completed' || state === 'killed' || state === 'expired'
  const waiting = state === 'pending'
  const stepping = pinned && state === 'step_up_required'
  const left = (until: Instant, running: boolean) => (running ? Math.max(0, until - now) : 0)
  return {
    id: session.id,
    state,
    nonce,
    qr_payload: qrPayload(settings, view),
    api_base_url: settings.publicOrigin,
    universal_link: universalLink(settings, view),
    websocket_url: `${settings.publicOrigin.replace(/^http/, 'ws')}/sessions/${session.id}`,
    challenge_expires_at: iso(challengeExpiresAt),
    expires_at: iso(session.expiresAt),
    workflow: session.workflow,
    action: session.action,
    tenant_id: session.tenantId,
    server_time: iso(now),
    expires_in_ms: left(session.expiresAt, !ended),
    challenge_expires_in_ms: left(challengeExpiresAt, waiting || stepping),
    challenge_rotates_in_ms: left(rotatesAt, waiting),
    seq: session.seq,
    ...(session.bondedAt === null ? {} : { reported_at: isoOrNull(session.completedAt) }),
  }
}
