import {
  API_PATH,
  BROWSER_SECRET_HEADER,
  COMPLETE_SESSION,
  COMPLETION_SECRET,
  type CompletionOutcome,
  CREATE_SESSION,
  type CreatedSession,
  type CreateSessionRequest,
  DELETE_SESSION,
  exchange,
  type FullSession,
  GET_SESSION,
  parseId,
  requestPath,
  type Secret,
  type SessionId,
  COMPLETION_SECRET_HEADER,
  CONTEXT_DIGEST_HEADER,
  OUTCOME_HEADER,
} from '@bonded/contract'
import { GateError } from '../errors.ts'
import { ATTEMPT_TIMEOUT_MS, call, noResponse, rejectionOf, type Service } from './call.ts'

/** Creates a session. Repeating a request with the same key returns the same session. */
export async function createSession(
  service: Service,
  request: CreateSessionRequest,
  idempotencyKey: string,
): Promise<CreatedSession> {
  const response = await call(service, {
    route: CREATE_SESSION,
    path: requestPath(CREATE_SESSION, {}),
    headers: { 'idempotency-key': idempotencyKey },
    body: request,
  })
  const { id, completion_secret, expires_at } = response
  const usable =
    typeof id === 'string' &&
    parseId('sess', id) !== undefined &&
    typeof completion_secret === 'string' &&
    COMPLETION_SECRET.test(completion_secret) &&
    typeof expires_at === 'string'
  if (!usable)
    throw new GateError(
      'unexpected_answer',
      'The answer to create is not a session. Check baseUrl.',
    )
  // The members of the row are checked. The others go to the browser unchanged.
  return response as unknown as CreatedSession
}

/**
 * Ends a session that nothing can use, so that no phone shows it. It makes one attempt.
 *
 * @throws {GateError} `service_unavailable`: the phone may still show it
 */
export async function endSession(service: Service, session_id: string): Promise<void> {
  const path = requestPath(DELETE_SESSION, { session_id })
  const url = service.baseUrl + path.slice(API_PATH.length)
  const result = await exchange({
    route: DELETE_SESSION,
    url,
    fetch: service.fetch,
    bearer: service.serverCredential.reveal(),
    init: { redirect: 'manual', signal: service.clock.timeout(ATTEMPT_TIMEOUT_MS) } as const,
  })
  // The service has no such session any more, or none that is not over.
  if (result.kind === 'accepted' || (result.kind === 'rejected' && result.status === 404)) return
  const cause =
    result.kind === 'rejected' ? rejectionOf(result, url) : noResponse(url, result.cause)
  const message = `The service did not end the session: ${cause.message}`
  throw new GateError('service_unavailable', message, { address: url, cause })
}

/** Reads a session as its tenant. `judgeSubmit` checks the members of the response. */
export async function getSession(
  service: Service,
  session_id: SessionId,
  browserSecret?: string,
): Promise<FullSession> {
  const path = requestPath(GET_SESSION, { session_id })
  const headers = browserSecret === undefined ? {} : { [BROWSER_SECRET_HEADER]: browserSecret }
  return (await call(service, { route: GET_SESSION, path, headers })) as unknown as FullSession
}

/**
 * Completes the session. The service responds to a repetition with success and records no event.
 */
export async function completeSession(
  service: Service,
  bond: {
    readonly session_id: SessionId
    readonly completion_secret: Secret
    readonly context_digest: string | null
    readonly outcome: CompletionOutcome | undefined
  },
): Promise<void> {
  const response = await call(service, {
    route: COMPLETE_SESSION,
    path: requestPath(COMPLETE_SESSION, { session_id: bond.session_id }),
    headers: {
      [COMPLETION_SECRET_HEADER]: bond.completion_secret.reveal(),
      ...(bond.context_digest !== null && { [CONTEXT_DIGEST_HEADER]: bond.context_digest }),
      ...(bond.outcome !== undefined && { [OUTCOME_HEADER]: bond.outcome }),
    },
  })
  if (response['ok'] !== true)
    throw new GateError('unexpected_answer', 'The answer to form-completed lacks `ok: true`.')
}
