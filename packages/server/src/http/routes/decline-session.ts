import { ENDPOINTS } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { declineSession } from '@bonded/core/operations/phone/decline-session'
import { viewForPhone } from '@bonded/core/operations/session/session-view'
import { presentPhone } from '../response/present.ts'
import { serve } from '../serve.ts'

export const declineSessionRoute = serve(
  ENDPOINTS.declineSession,
  async ({ service, caller, params, body }) => {
    const declined = await declineSession(service, caller, {
      id: params.session_id,
      request: body,
    })
    return mapResult(declined, (value) => [
      'phone',
      presentPhone(service.settings, viewForPhone(service, value, caller.device)),
    ])
  },
)
