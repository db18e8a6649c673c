import { type CompletionOutcome, ENDPOINTS, parseId } from '@bonded/contract'
import { accept } from '@bonded/core/domain/refusal'
import { completeSession } from '@bonded/core/operations/complete-session'
import { serve } from '../serve.ts'

export const completeSessionRoute = serve(
  ENDPOINTS.completeSession,
  async ({ service, caller, params, headers }) => {
    const completed = await completeSession(service, caller, {
      id: parseId('sess', params.session_id ?? ''),
      completionSecret: headers['x-bond-completion-secret'],
      contextDigest: headers['x-bond-context-digest'],
      // The endpoint's schema admits only the words of the list.
      outcome: headers['x-bond-outcome'] as CompletionOutcome | undefined,
    })
    return completed.ok
      ? accept(['completed', { ok: true, session_id: completed.value.id }])
      : completed
  },
)
