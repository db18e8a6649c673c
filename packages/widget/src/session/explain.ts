import type { UnavailableReason } from '../outcome.ts'
import { type Answer, ask, fromNowhere } from './ask.ts'
import type { SessionAddress } from './read.ts'
import { report, reportRejection } from './rejection.ts'

/** Explaining must not keep a user waiting. */
const ANSWER_LIMIT_MS = 3_000

interface Subject {
  readonly address: SessionAddress
  readonly publishableKey: string
  /** What the page asked the bond for. */
  readonly purpose: { readonly workflow: string; readonly action: string }
}

/**
 * Finds out why the service does not show a session to this page. The session itself reads as not
 * found to every key that may not read it, so this asks about the key instead.
 */
export async function explainNotFound(subject: Subject): Promise<UnavailableReason> {
  const { address, publishableKey, purpose } = subject
  const url = new URL('/api/v1/publishable-key', address.apiBaseUrl)
  url.search = String(
    new URLSearchParams([
      ['workflow', purpose.workflow],
      ['action', purpose.action],
      ...(address.tenantId === null ? [] : [['tenant_id', address.tenantId]]),
    ]),
  )
  try {
    const response = await fetch(
      url,
      fromNowhere({
        headers: { Authorization: `Bearer ${publishableKey}` },
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      }),
    )
    if (response.status === 401 || response.status === 403)
      return reportRejection(response.status, await response.text())
  } catch {
    // Without an answer the plain reason has to do.
  }
  return report('session_not_found', address.id)
}

/**
 * Finds out whether the service rejects the origin of this page. Browsers hide that: a response
 * without CORS headers looks like a failed network. So the origin is at fault where the service
 * answers a request that needs no CORS, and the session is unreadable before and after.
 *
 * @returns the answer of the second try, or the rejection
 */
export async function explainBlocked({ address, publishableKey }: Subject): Promise<Answer> {
  if (!(await isReachable(address.apiBaseUrl))) return { kind: 'blocked' }
  const again = await ask({ address, publishableKey, wait: null, signal: null })
  return again.kind === 'blocked'
    ? { kind: 'rejected', reason: report('origin_not_allowed') }
    : again
}

async function isReachable(apiBaseUrl: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
    await fetch(new URL('/health/alive', apiBaseUrl), fromNowhere({ mode: 'no-cors', signal }))
    return true
  } catch {
    return false
  }
}
