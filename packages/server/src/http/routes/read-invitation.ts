import { ENDPOINTS, NONCE_HEADER } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { readInvitation } from '@bonded/core/operations/phone/read-invitation'
import { presentInvitation } from '../response/present.ts'
import { serve } from '../serve.ts'

export const readInvitationRoute = serve(
  ENDPOINTS.readInvitation,
  async ({ service, params, headers }) => {
    const found = await readInvitation(service, {
      id: params.session_id,
      nonce: headers[NONCE_HEADER],
    })
    return mapResult(found, (value) => ['invitation', presentInvitation(service.settings, value)])
  },
)
