import type { TenantId } from '@bonded/contract'
import type { Session } from '@bonded/core/domain/session'
import { isInbox } from '@bonded/core/domain/inbox'
import { stateAt } from '@bonded/core/protocol/states'
import type { Service } from '@bonded/core/operations/service'
import { viewOf } from '@bonded/core/operations/session/session-view'

/** More than the pages that a user of the demo has open. */
const RECENT_SESSIONS = 5

/** A session whose QR code a page shows, and the link in that QR code. */
export interface NewestCode {
  readonly session: Session
  readonly link: string
}

/** Finds the newest QR code of a tenant that waits for a phone. Undefined if there is none. */
export async function newestCode(
  service: Service,
  tenantId: TenantId,
): Promise<NewestCode | undefined> {
  const now = service.clock.now()
  const { sessions: recent } = await service.store.read((tables) =>
    tables.sessions.list({ tenantId, limit: RECENT_SESSIONS }),
  )
  const session = recent.find((each) => !isInbox(each) && stateAt(each, now) === 'pending')
  if (session === undefined) return undefined
  return { session, link: linkOf(service, session) }
}

/** The link in the QR code that the session shows now. */
export function linkOf(service: Service, session: Session): string {
  const { nonce } = viewOf(service, session)
  return `${service.settings.publicOrigin}/bond?session_id=${session.id}&nonce=${nonce}`
}
