import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { checkPublishableKey } from '@bonded/core/operations/session/check-publishable-key'
import { serve } from '../serve.ts'

export const checkPublishableKeyRoute = serve(
  ENDPOINTS.checkPublishableKey,
  ({ caller: { key }, query: { tenant_id, workflow, action } }) => {
    const checked = checkPublishableKey(key, { tenantId: tenant_id, workflow, action })
    return checked.ok ? accept(null) : checked
  },
)
