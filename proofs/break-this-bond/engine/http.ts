import { PATH_IDS, parseId, type RequestParts, type ResponseLike } from '@bonded/contract'
import { type Caller, keyIdOf, serviceDuring } from '@bonded/core/operations/service'
import { rejectionToWire } from '@bonded/server/http/response/rejection-to-wire'
import { attestRoute } from '@bonded/server/http/routes/attest'
import { claimSessionRoute } from '@bonded/server/http/routes/claim-session'
import { completeSessionRoute } from '@bonded/server/http/routes/complete-session'
import { createSessionRoute } from '@bonded/server/http/routes/create-session'
import { declineSessionRoute } from '@bonded/server/http/routes/decline-session'
import { fetchEvidenceRoute } from '@bonded/server/http/routes/fetch-evidence'
import { getSessionRoute } from '@bonded/server/http/routes/get-session'
import { countInboxRoute, openInboxRoute } from '@bonded/server/http/routes/inbox'
import { proveBrowserRoute } from '@bonded/server/http/routes/prove-browser'
import { createQuorumRoute, getQuorumRoute } from '@bonded/server/http/routes/quorums'
import { readReceiptRoute } from '@bonded/server/http/routes/read-receipt'
import { readTimelineRoute } from '@bonded/server/http/routes/read-timeline'
import type { Handled } from '../platform/serve.ts'
import type { GameService } from './service.ts'

/** In the bundle, `platform/serve.ts` makes them. */
const ROUTES = [
  attestRoute,
  claimSessionRoute,
  completeSessionRoute,
  countInboxRoute,
  createQuorumRoute,
  createSessionRoute,
  declineSessionRoute,
  fetchEvidenceRoute,
  getQuorumRoute,
  getSessionRoute,
  openInboxRoute,
  proveBrowserRoute,
  readReceiptRoute,
  readTimelineRoute,
].map((route) => handledOf(route as unknown as Handled))

/** The addresses of every party are of one network, about which the service says nothing. */
const ADDRESS = '192.0.2.1'

/** A `fetch` that reaches the service as this caller. */
export type GameFetch = (url: string, request: RequestParts) => Promise<ResponseLike>

/** Returns the `fetch` of a caller, whose credential is not part of any level. */
export function fetchAs(game: GameService, callerNow: () => Promise<Caller>): GameFetch {
  return async (url, { method, headers, body }) => {
    const { pathname, searchParams } = new URL(url)
    for (const { endpoint, handle, pattern, id: named } of ROUTES) {
      const found = endpoint.method === method ? pattern.exec(pathname) : null
      if (found === null) continue
      const caller = await callerNow()
      const id = game.requestId()
      const result = await handle({
        service: serviceDuring(game.service, { requestId: id, keyId: keyIdOf(caller) }),
        caller,
        body: body === undefined ? undefined : JSON.parse(body),
        params: { [named]: parseId(PATH_IDS[named], found[1] ?? '') },
        query: Object.fromEntries(searchParams),
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
        ),
        address: () => ADDRESS,
        signal: () => new AbortController().signal,
      })
      if (result.ok) return response(endpoint.status, result.value?.[1])
      const rejected = rejectionToWire(result.rejection, id)
      return response(rejected.status, rejected.body)
    }
    throw new RangeError(`no level uses ${method} ${pathname}`)
  }
}

/** A route with the pattern of its path, which names one id at most. */
function handledOf({ endpoint, handle }: Handled) {
  const id = (/\{(\w+)\}/.exec(endpoint.path)?.[1] ?? 'session_id') as keyof typeof PATH_IDS
  const pattern = new RegExp(`^${endpoint.path.replace(`{${id}}`, '([^/]+)')}$`)
  return { endpoint, handle, pattern, id }
}

function response(status: number, body: unknown): ResponseLike {
  return {
    status,
    headers: { get: () => null },
    text: async () => (body === undefined ? '' : JSON.stringify(body)),
  }
}
