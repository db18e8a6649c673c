import { ENDPOINTS } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { killSession } from '@bonded/core/operations/session/kill-session'
import { serve } from '../serve.ts'

export const deleteSessionRoute = serve(
  ENDPOINTS.deleteSession,
  async ({ service, caller, params }) =>
    mapResult(await killSession(service, caller, params.session_id), () => null),
)
