import { BROWSER_SECRET_HEADER, ENDPOINTS, type SessionId, WATCH_HEADER } from '@bonded/contract'
import { accept, type Result } from '@bonded/core/domain/rejection'
import {
  readAsBackend,
  openAsBrowser,
  readAsPhone,
} from '@bonded/core/operations/session/read-session'
import { awaitChange } from '@bonded/core/operations/session/await-change'
import {
  viewForBackend,
  viewForBrowser,
  viewForPhone,
} from '@bonded/core/operations/session/session-view'
import { presentFull, presentPhone, presentPublic } from '../response/present.ts'
import { type EndpointResponse, type Call, serve } from '../serve.ts'

type GetSession = typeof ENDPOINTS.getSession

export const getSessionRoute = serve(ENDPOINTS.getSession, async (call) => {
  const { service, params, query, signal } = call
  const id = params.session_id
  const first = await read(call, id)
  const waitMs = Number(query.wait_ms ?? 0)
  // Only a caller that may read the session may wait for it, so the service reads it first.
  if (!first.ok || waitMs === 0 || id === undefined) return first
  const known = Number(query.after ?? first.value[1].seq)
  const changed = await awaitChange(service, {
    id,
    seen: first.value[1].seq,
    known,
    waitMs,
    signal: AbortSignal.any([signal(), service.shutdown.endOfWaiting]),
  })
  return changed ? read(call, id) : first
})

async function read(
  { service, caller, query, headers }: Call<GetSession>,
  id: SessionId | undefined,
): Promise<Result<EndpointResponse<GetSession>>> {
  const { settings } = service
  switch (caller.kind) {
    case 'backend': {
      const found = await readAsBackend(service, caller, id)
      if (!found.ok) return found
      const view = viewForBackend(service, found.value, headers[BROWSER_SECRET_HEADER])
      return accept(['full', presentFull(settings, view)])
    }
    case 'browser': {
      const watchToken = headers[WATCH_HEADER]
      const found = await openAsBrowser(service, caller, { id, watchToken })
      if (!found.ok) return found
      const view = viewForBrowser(service, found.value)
      return accept(['public', presentPublic(settings, view, caller.key.tenant)])
    }
    case 'phone': {
      const found = await readAsPhone(service, caller, { id, nonce: query.nonce })
      if (!found.ok) return found
      const view = viewForPhone(service, found.value, caller.device)
      return accept(['phone', presentPhone(settings, view)])
    }
  }
}
