import {
  ENDPOINTS,
  COMPLETION_SECRET_HEADER,
  CONTEXT_DIGEST_HEADER,
  OUTCOME_HEADER,
} from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { completeSession } from '@bonded/core/operations/session/complete-session'
import { serve } from '../serve.ts'

export const completeSessionRoute = serve(
  ENDPOINTS.completeSession,
  async ({ service, caller, params, headers }) => {
    const completed = await completeSession(service, caller, {
      id: params.session_id,
      completionSecret: headers[COMPLETION_SECRET_HEADER],
      contextDigest: headers[CONTEXT_DIGEST_HEADER],
      outcome: headers[OUTCOME_HEADER],
    })
    return mapResult(completed, (value) => ['completed', { ok: true, session_id: value.id }])
  },
)
