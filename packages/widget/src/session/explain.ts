import { ALIVE, CHECK_PUBLISHABLE_KEY, requestPath } from '@bonded/contract'
import { getSession, send, type SessionResponse, withoutPageState } from './get-session.ts'
import { report, reportRejection } from './rejection.ts'
import type { SessionAddress } from './snapshot.ts'

/** The explanation must not delay the user's message. */
const RESPONSE_LIMIT_MS = 3_000

interface Subject {
  readonly address: SessionAddress
  readonly publishableKey: string
  /** The workflow and action that the page requested the bond for. */
  readonly purpose: { readonly workflow: string; readonly action: string }
}

/**
 * Finds out why the service does not show a session to this page. A session reads as not found for
 * every key that may not read it, so this function asks about the key instead.
 */
export async function explainNotFound(subject: Subject): Promise<SessionResponse> {
  const { address, publishableKey, purpose } = subject
  const { workflow, action } = purpose
  const query = { workflow, action, tenant_id: address.tenantId ?? undefined }
  const response = await send(CHECK_PUBLISHABLE_KEY, {
    address,
    path: requestPath(CHECK_PUBLISHABLE_KEY, {}, query),
    publishableKey,
    headers: {},
    signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
  })
  // Without a response about the key, the reason stays that of the session.
  const reason =
    response.kind === 'rejected' && (response.status === 401 || response.status === 403)
      ? reportRejection(response)
      : report('session_not_found', address.id)
  return { kind: 'rejected', reason }
}

/**
 * Finds out whether the service rejects the origin of this page. Browsers hide such a rejection: a
 * response without CORS headers looks like a failed network. The origin is therefore at fault if
 * the service responds to a request without CORS, and the session is unreadable before and after
 * it.
 *
 * @returns the response of the second attempt, or the rejection
 */
export async function explainBlocked(subject: Subject): Promise<SessionResponse> {
  const { address, publishableKey } = subject
  if (!(await isReachable(address.apiBaseUrl))) return { kind: 'blocked' }
  const again = await getSession({ address, publishableKey, wait: null, signal: null })
  return again.kind === 'blocked'
    ? { kind: 'rejected', reason: report('origin_not_allowed') }
    : again
}

async function isReachable(apiBaseUrl: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(RESPONSE_LIMIT_MS)
    await fetch(new URL(ALIVE.path, apiBaseUrl), withoutPageState({ mode: 'no-cors', signal }))
    return true
  } catch {
    return false
  }
}
