import { WATCH_PARAMETER } from '@bonded/contract'
import type { Rejection } from '@bonded/core/domain/rejection'

/**
 * Rejects a request whose query carries a watch token, as the `websocket_url` of a backend's
 * session does: proxies write queries into their logs.
 *
 * @returns undefined for any other request
 */
export function rejectWatchInQuery(url = ''): Rejection | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !new URLSearchParams(url.slice(start)).has(WATCH_PARAMETER)) return undefined
  return { reason: 'invalid_parameter', param: WATCH_PARAMETER }
}
