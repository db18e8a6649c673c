import { bare, hasEnded, type Members } from '@bonded/contract'
import { checkSession, type CheckedRequest, type CheckedSetup, isFor } from '../arguments.ts'
import type { UnavailableReason } from '../outcome.ts'
import { PulseError, type PulseErrorCode } from '../pulse-error.ts'
import { getSession } from './get-session.ts'
import type { Resumption } from './resume.ts'
import { type Pair, readPairs } from '../view/pairs.ts'
import { readAddress, type SessionAddress, type Snapshot, unseen } from './snapshot.ts'

/** A backend that takes longer to create a session counts as failed. */
const ENDPOINT_LIMIT_MS = 15_000

/** Two faults of a session have a reason of the same name. */
function reasonOf({ code }: { readonly name: string; readonly code?: PulseErrorCode }) {
  return code === 'completion_secret_exposed' || code === 'session_mismatch'
    ? code
    : 'session_endpoint_failed'
}

/** The session to watch, or why there is none. */
export type Found = FoundSession | { readonly kind: 'none'; readonly reason: UnavailableReason }

export interface FoundSession {
  readonly kind: 'session'
  readonly address: SessionAddress
  readonly snapshot: Snapshot
  /** Whether the service itself has shown this session to this page's key. */
  readonly confirmed: boolean
  /** The context that the backend gave the page with the session; empty if it gave none. */
  readonly pairs: readonly Pair[]
}

/**
 * Finds the session to watch: the given one, the one that this tab watched before a reload, or a
 * new one from the tenant's backend.
 */
export async function findSession(
  setup: CheckedSetup,
  request: CheckedRequest,
  stored: Resumption,
): Promise<Found> {
  const found = request.session
    ? parseSession(request.session)
    : ((await resumed(setup, { ...request, stored })) ?? (await fromEndpoint(setup, request)))
  if (found.kind === 'none') return found
  const { origin } = new URL(found.address.apiBaseUrl)
  return origin === setup.origin
    ? found
    : failed('script_not_hosted', `Load pulse.js from ${origin}, not from ${setup.origin}.`)
}

/** The session from before a reload, if the service confirms that it has not ended. */
async function resumed(
  { publishableKey, workflow }: CheckedSetup,
  { action, stored }: { readonly action: string; readonly stored: Resumption },
): Promise<Found | undefined> {
  const address = stored.load()
  if (!address) return undefined
  const found = await getSession({ address, publishableKey, wait: null, signal: null })
  if (found.kind !== 'snapshot' || hasEnded(found.snapshot.state)) return undefined
  return isFor(found.view, { workflow, action })
    ? { kind: 'session', address, snapshot: found.snapshot, confirmed: true, pairs: [] }
    : undefined
}

async function fromEndpoint(
  { workflow, sessionEndpoint = '', sessionEndpointCredentials }: CheckedSetup,
  { action, context }: CheckedRequest,
): Promise<Found> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), ENDPOINT_LIMIT_MS)
  try {
    const response = await fetch(
      sessionEndpoint,
      bare({
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
        body: JSON.stringify({ workflow, action, context }),
        credentials: sessionEndpointCredentials,
        cache: 'no-store',
        signal: limit.signal,
      } satisfies RequestInit),
    )
    if (!response.ok)
      return failed('session_endpoint_failed', `sessionEndpoint answered ${response.status}.`)
    return parseSession(checkSession(await response.json(), { workflow, action }))
  } catch (cause) {
    // A missing response is a network failure. Any other response is a failure of the backend.
    const isAnswered = cause instanceof PulseError || cause instanceof SyntaxError
    return failed(
      isAnswered ? reasonOf(cause) : 'network',
      'sessionEndpoint returned no session of this request.',
      cause,
    )
  } finally {
    clearTimeout(timer)
  }
}

function parseSession(view: Members): FoundSession {
  const snapshot = unseen(performance.now())
  const pairs = readPairs(view['context'])
  return { kind: 'session', address: readAddress(view)!, snapshot, confirmed: false, pairs }
}

/** Reports the cause to the page's developer. The user reads a calm sentence in the widget. */
function failed(reason: UnavailableReason, why: string, cause: unknown = ''): Found {
  console.error(`Pulse: ${why}`, cause)
  return { kind: 'none', reason }
}
