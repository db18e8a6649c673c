import {
  COMPLETION_SECRET,
  type CreatedSession,
  type CreateSessionRequest,
  type FullSession,
  parseId,
  type SessionId,
} from '@bonded/contract'
import { GateError } from '../errors.ts'
import type { Secret } from '../secret.ts'
import { call, type Service } from './call.ts'

/** Creates a session. The same key with the same request is the same session, however often it is sent. */
export async function createSession(
  service: Service,
  request: CreateSessionRequest,
  idempotencyKey: string,
): Promise<CreatedSession> {
  const answer = await call(service, {
    method: 'POST',
    path: '/sessions',
    headers: { 'idempotency-key': idempotencyKey },
    body: request,
  })
  const { id, completion_secret, expires_at } = answer
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
  // The members that a row is made of are checked; the rest is passed on to the browser as it is.
  return answer as CreatedSession
}

/** Reads a session as its tenant. What the answer says is for `judgeSubmit` to believe or not. */
export async function getSession(service: Service, session_id: SessionId): Promise<FullSession> {
  return (await call(service, { method: 'GET', path: `/sessions/${session_id}` })) as FullSession
}

/** Closes the bond. The service answers a repetition with the same success and no second event. */
export async function completeSession(
  service: Service,
  bond: {
    readonly session_id: SessionId
    readonly completion_secret: Secret
    readonly context_digest: string | null
  },
): Promise<void> {
  const answer = await call(service, {
    method: 'POST',
    path: `/sessions/${bond.session_id}/form-completed`,
    headers: {
      'x-bond-completion-secret': bond.completion_secret.reveal(),
      ...(bond.context_digest !== null && { 'x-bond-context-digest': bond.context_digest }),
    },
  })
  if (answer.ok !== true)
    throw new GateError('unexpected_answer', 'The answer to form-completed does not say ok.')
}
