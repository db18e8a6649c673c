import { ENDPOINTS, type Inbox } from '@bonded/contract'
import { accept, mapResult } from '@bonded/core/domain/rejection'
import { iso } from '@bonded/core/domain/iso'
import { titlesOf } from '@bonded/core/domain/tenant'
import {
  countInbox,
  type InboxPage,
  openInbox,
  resumeInbox,
} from '@bonded/core/operations/inbox/inbox'
import { setPush } from '@bonded/core/operations/inbox/wake-phones'
import { serve } from '../serve.ts'

export const countInboxRoute = serve(ENDPOINTS.countInbox, async ({ service, caller }) => {
  const waiting = await countInbox(service, caller)
  return accept(['count', { server_time: iso(service.clock.now()), waiting }])
})

export const openInboxRoute = serve(ENDPOINTS.openInbox, async ({ service, caller, body }) =>
  mapResult(await openInbox(service, caller, body), (opened) => ['inbox', presentInbox(opened)]),
)

export const resumeInboxRoute = serve(ENDPOINTS.resumeInbox, async ({ service, caller, body }) =>
  mapResult(await resumeInbox(service, caller, body), () => null),
)

export const setPushRoute = serve(ENDPOINTS.setPush, async ({ service, caller, body }) =>
  mapResult(await setPush(service, caller, body), () => null),
)

/** Presents a page of the inbox. An item has only the requester of the context. */
function presentInbox({ now, items, cursor, paused, push }: InboxPage): Inbox {
  return {
    server_time: iso(now),
    items: items.map(({ session, tenant, nonce }) => ({
      session_id: session.id,
      nonce,
      tenant_name: tenant.name,
      ...titlesOf(tenant, session),
      requester: session.context?.requester ?? null,
      created_at: iso(session.createdAt),
      expires_in_ms: session.expiresAt - now,
    })),
    cursor,
    paused: paused.map(({ tenant, until }) => ({
      tenant_id: tenant.id,
      tenant_name: tenant.name,
      paused_until: iso(until),
    })),
    push: push && { public_key: push.publicKey, is_on: push.isOn },
  }
}
