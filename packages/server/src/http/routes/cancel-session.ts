import { ENDPOINTS, WATCH_HEADER } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { cancelSession } from '@bonded/core/operations/session/cancel-session'
import { viewForBrowser } from '@bonded/core/operations/session/session-view'
import { presentPublic } from '../response/present.ts'
import { serve } from '../serve.ts'

export const cancelSessionRoute = serve(
  ENDPOINTS.cancelSession,
  async ({ service, caller, params, headers }) => {
    const canceled = await cancelSession(service, caller, {
      id: params.session_id,
      watchToken: headers[WATCH_HEADER],
    })
    if (!canceled.ok) return canceled
    const { tenant } = caller.key
    const view = viewForBrowser(service, canceled.value)
    return accept(['public', presentPublic(service.settings, view, tenant)])
  },
)
