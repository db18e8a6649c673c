import { WATCH_PARAMETER } from '@bonded/contract'
import type { Rejection } from '@bonded/core/domain/rejection'

/**
 * Rejects a request whose query carries a watch token: proxies write queries into their logs. Only
 * an upgrade may have it, because a browser can open the `websocket_url` in no other way.
 *
 * @returns undefined for any other request
 */
export function rejectWatchInQuery(url = ''): Rejection | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !new URLSearchParams(url.slice(start)).has(WATCH_PARAMETER)) return undefined
  return { reason: 'invalid_parameter', param: WATCH_PARAMETER }
}
