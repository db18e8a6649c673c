import { ENDPOINTS } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { checkPublishableKey } from '@bonded/core/operations/session/check-publishable-key'
import { serve } from '../serve.ts'

export const checkPublishableKeyRoute = serve(
  ENDPOINTS.checkPublishableKey,
  ({ caller: { key }, query: { tenant_id, workflow, action } }) =>
    mapResult(checkPublishableKey(key, { tenantId: tenant_id, workflow, action }), () => null),
)
