import { BROWSER_SECRET_HEADER, ENDPOINTS, type SessionId, WATCH_HEADER } from '@bonded/contract'
import { accept, type Result } from '@bonded/core/domain/rejection'
import { readAsBackend, openAsBrowser, readAsPhone } from '@bonded/core/operations/read-session'
import { awaitChange } from '@bonded/core/operations/await-change'
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
  switch (caller.kind) {
    case 'backend': {
      const found = await readAsBackend(service, caller, id)
      return found.ok
        ? accept(['full', presentFull(service, found.value, headers[BROWSER_SECRET_HEADER])])
        : found
    }
    case 'browser': {
      const watchToken = headers[WATCH_HEADER]
      const found = await openAsBrowser(service, caller, { id, watchToken })
      return found.ok
        ? accept([
            'public',
            presentPublic(service, { session: found.value, tenant: caller.key.tenant }),
          ])
        : found
    }
    case 'phone': {
      const found = await readAsPhone(service, caller, { id, nonce: query.nonce })
      return found.ok ? accept(['phone', presentPhone(service, found.value, caller.device)]) : found
    }
  }
}
