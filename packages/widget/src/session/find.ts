import { isFor, type BondRequest, type Setup } from '../arguments.ts'
import type { UnavailableReason } from '../outcome.ts'
import { ask } from './ask.ts'
import { isObject, readAddress, readStanding, type SessionAddress, type Standing } from './read.ts'
import { recall } from './resume.ts'

/** A backend that takes longer to create a session has not created one. */
const ENDPOINT_LIMIT_MS = 15_000

/** The session to watch, or why there is none. */
export type Found =
  | { readonly address: SessionAddress; readonly standing: Standing }
  | { readonly reason: UnavailableReason }

/** The session to watch: the one given, the one this tab was waiting for before a reload, or a new one from the customer's backend. */
export async function findSession(setup: Setup, request: BondRequest): Promise<Found> {
  if (request.session) return understand(request.session)
  return (await resumed(setup, request)) ?? fromEndpoint(setup, request)
}

/** The session of before the reload, where the service says that it still lives. */
async function resumed(
  { publishableKey, workflow }: Setup,
  { action, context }: BondRequest,
): Promise<Found | undefined> {
  const address = recall({ workflow, action, context })
  if (!address) return undefined
  const answer = await ask({ address, publishableKey })
  if (
    answer.kind !== 'standing' ||
    !['pending', 'step_up_required', 'bonded'].includes(answer.standing.state)
  )
    return undefined
  return isFor(answer.view, { workflow, action })
    ? { address, standing: answer.standing }
    : undefined
}

async function fromEndpoint(
  { workflow, sessionEndpoint = '' }: Setup,
  { action, context }: BondRequest,
): Promise<Found> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), ENDPOINT_LIMIT_MS)
  try {
    const response = await fetch(sessionEndpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify({ workflow, action, context }),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: limit.signal,
    })
    if (!response.ok)
      return failed('session_endpoint_failed', `sessionEndpoint answered ${response.status}.`)
    const view: unknown = await response.json()
    if (!isObject(view))
      return failed('session_endpoint_failed', 'sessionEndpoint did not answer with a session.')
    if (view['completion_secret'])
      return failed(
        'completion_secret_exposed',
        'sessionEndpoint sent completion_secret to the browser. Send publicSession(session).',
      )
    if (!isFor(view, { workflow, action }))
      return failed(
        'session_mismatch',
        'sessionEndpoint answered with a session of another workflow or action.',
      )
    return understand(view)
  } catch (cause) {
    // No answer at all is the network's doing; an answer that is no JSON is the backend's.
    return failed(
      cause instanceof SyntaxError ? 'session_endpoint_failed' : 'network',
      'sessionEndpoint could not be read.',
      cause,
    )
  } finally {
    clearTimeout(timer)
  }
}

function understand(view: object): Found {
  const address = readAddress(view)
  const standing = readStanding(view, performance.now())
  return address && standing
    ? { address, standing }
    : failed(
        'unknown_answer',
        'The session lacks members. Send the create answer without completion_secret.',
      )
}

/** The person reads a plain sentence in the widget; what went wrong is for the page's developer. */
function failed(reason: UnavailableReason, why: string, cause?: unknown): Found {
  console.error(`Pulse: ${why}`, ...(cause === undefined ? [] : [cause]))
  return { reason }
}
