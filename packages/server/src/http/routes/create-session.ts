import { type CreateSessionRequest, ENDPOINTS, type Members, withoutNulls } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { createSession, type SessionRequest } from '@bonded/core/operations/session/create-session'
import { completionSecretOf, viewForBackend } from '@bonded/core/operations/session/session-view'
import { presentCreated } from '../response/present.ts'
import { serve } from '../serve.ts'

export const createSessionRoute = serve(
  ENDPOINTS.createSession,
  async ({ service, caller, body, headers }) => {
    const created = await createSession(service, caller, {
      request: readRequest(body),
      idempotencyKey: headers['idempotency-key'],
    })
    if (!created.ok) return created
    const view = viewForBackend(service, created.value)
    const secret = completionSecretOf(service, created.value)
    return accept(['created', presentCreated(service.settings, view, secret)])
  },
)

/**
 * Null means that a member is omitted. The Idempotency-Key and the hash of the context therefore
 * see the same request.
 */
function readRequest(body: CreateSessionRequest): SessionRequest {
  const { context, ...rest } = withoutNulls(body)
  const given = context === undefined ? {} : { context: withoutNulls(context as Members) }
  return { ...rest, ...given } as SessionRequest
}
