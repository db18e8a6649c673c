import {
  type ChallengeFrame,
  type HeartbeatFrame,
  type HelloFrame,
  type HintFrame,
  SESSION_HINTS,
  type SessionHint,
  type StateFrame,
} from '@bonded/contract'
import { iso } from '@bonded/core/domain/iso'
import type { Instant, Session } from '@bonded/core/domain/session'
import { endedAt } from '@bonded/core/protocol/states'
import {
  presentPublic,
  provedBrowser,
  publicReason,
  qrPayload,
  qrSvgUrl,
  universalLink,
} from '../http/response/present.ts'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import { viewForBrowser, viewOf } from '@bonded/core/operations/session/session-view'
import type { StoredEvent } from '@bonded/core/ports/tables/session-table'

/**
 * The interval of heartbeat frames (protocol 9). A page shows a lost connection after 5 s, which
 * leaves a frame 2 s to arrive.
 */
export const HEARTBEAT_MS = 3_000

/** Builds the first frame of a channel: the current state of the session. */
export function helloFrame(
  service: Service,
  { session, tenant }: { session: Session; tenant: Tenant },
): HelloFrame {
  const { watch_token: _never, ...view } = presentPublic(
    service.settings,
    viewForBrowser(service, session),
    tenant,
  )
  return {
    ...envelope(service, session),
    type: 'hello',
    data: { ...view, heartbeat_ms: HEARTBEAT_MS },
  }
}

/** Builds the frame with the current challenge and its QR code. */
export function challengeFrame(service: Service, session: Session): ChallengeFrame {
  const { settings } = service
  const view = viewOf(service, session)
  const { now } = view
  return {
    ...envelope(service, session),
    type: 'challenge',
    data: {
      nonce: view.nonce,
      qr_payload: qrPayload(settings, view),
      universal_link: universalLink(settings, view),
      qr_svg_url: qrSvgUrl(view),
      qr_content: settings.qrContent,
      challenge_rotates_in_ms: Math.max(0, view.rotatesAt - now),
      challenge_expires_in_ms: Math.max(0, view.challengeExpiresAt - now),
    },
  }
}

/** Builds the frame that shows a client that its channel works. */
export function heartbeatFrame(service: Service, session: Session): HeartbeatFrame {
  return { ...envelope(service, session), type: 'heartbeat', data: {} }
}

/** Builds the frame of a stored event, with the state at the time of the event. */
export function eventFrame(
  service: Service,
  session: Session,
  event: StoredEvent,
): HintFrame | StateFrame {
  const common = {
    ...envelope(service, session),
    seq: event.seq,
    state: event.state,
    hint: event.hint,
    at: iso(event.at),
  }
  if (isHint(event.kind)) return { ...common, type: 'hint', data: {} }
  const ended_reason = event.state === 'killed' ? publicReason(session.endedReason) : null
  const outcome = event.state === 'completed' ? session.outcome : null
  return { ...common, type: 'state', data: { ended_reason, outcome } }
}

function isHint(kind: string): boolean {
  return SESSION_HINTS.includes(kind as SessionHint)
}

function envelope(service: Service, session: Session) {
  const now: Instant = service.clock.now()
  const { state } = session
  return {
    v: 1 as const,
    seq: session.seq,
    session_id: session.id,
    state,
    hint: state === 'expired' ? null : session.hint,
    at: iso(now),
    expires_in_ms: endedAt(session, now) === null ? Math.max(0, session.expiresAt - now) : 0,
    ...provedBrowser(session),
  }
}
