import { ENDPOINTS } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { claimSession } from '@bonded/core/operations/phone/claim-session'
import { viewForPhone } from '@bonded/core/operations/session/session-view'
import { presentPhone } from '../response/present.ts'
import { serve } from '../serve.ts'

export const claimSessionRoute = serve(
  ENDPOINTS.claimSession,
  async ({ service, caller, params, body, address }) => {
    const claimed = await claimSession(service, caller, {
      id: params.session_id,
      nonce: body.nonce,
      deviceId: body.device_id,
      bringsBrowserKey: body.browser_key === true,
      shows: body.shows ?? [],
      address: address(),
    })
    return mapResult(claimed, (value) => [
      'phone',
      presentPhone(service.settings, viewForPhone(service, value, caller.device)),
    ])
  },
)
