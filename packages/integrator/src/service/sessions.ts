import {
  API_PATH,
  BROWSER_SECRET_HEADER,
  COMPLETE_SESSION,
  COMPLETION_SECRET,
  type CompletionOutcome,
  CREATE_QUORUM,
  CREATE_SESSION,
  type CreatedSession,
  type CreateQuorumRequest,
  type CreateSessionRequest,
  DELETE_SESSION,
  exchange,
  type FullSession,
  GET_QUORUM,
  GET_SESSION,
  type Members,
  parseId,
  type Quorum,
  type QuorumId,
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
  if (!isCreated(response)) throw unexpected('The answer to create is not a session.')
  // The members of the row are checked. The others go to the browser unchanged.
  return response
}

function isCreated(response: unknown): response is CreatedSession & Members {
  const { id, completion_secret, expires_at } = Object(response) as Members
  return (
    typeof id === 'string' &&
    parseId('sess', id) !== undefined &&
    typeof completion_secret === 'string' &&
    COMPLETION_SECRET.test(completion_secret) &&
    typeof expires_at === 'string'
  )
}

function unexpected(message: string): GateError {
  return new GateError('unexpected_answer', `${message} Check baseUrl.`)
}

export type CreatedSessions = readonly [CreatedSession, ...CreatedSession[]]

/** Creates the sessions of a quorum. The same key returns the same ones. */
export async function createQuorum(
  service: Service,
  request: CreateQuorumRequest,
  idempotencyKey: string,
): Promise<{ readonly id: QuorumId; readonly sessions: CreatedSessions }> {
  const { quorum_id, sessions } = await call(service, {
    route: CREATE_QUORUM,
    path: requestPath(CREATE_QUORUM, {}),
    headers: { 'idempotency-key': idempotencyKey },
    body: request,
  })
  const id = typeof quorum_id === 'string' ? parseId('quo', quorum_id) : undefined
  const isWhole = Array.isArray(sessions) && sessions.length === request.subject_refs.length
  if (id === undefined || !isWhole || !sessions.every(isCreated))
    throw unexpected('The answer to create is not a quorum.')
  return { id, sessions: sessions as unknown as CreatedSessions }
}

/** Reads the sessions of a quorum at one instant. `judgeQuorum` checks them. */
export async function getQuorum(service: Service, quorum_id: QuorumId): Promise<Quorum> {
  const path = requestPath(GET_QUORUM, { quorum_id })
  const response = await call(service, { route: GET_QUORUM, path })
  const { sessions } = response
  const isRead = Array.isArray(sessions) && sessions.every((each) => Object(each) === each)
  if (!isRead) throw unexpected('The answer to the read is not a quorum.')
  return response as unknown as Quorum
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
