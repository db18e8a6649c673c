import { ENDPOINTS } from '@bonded/contract'
import { accept } from '../../domain/refusal.ts'
import { checkPublishableKey } from '../../operations/check-publishable-key.ts'
import { serve } from '../serve.ts'

export const checkPublishableKeyRoute = serve(
  ENDPOINTS.checkPublishableKey,
  ({ caller: { key }, query: { tenant_id, workflow, action } }) => {
    const checked = checkPublishableKey(key, { tenantId: tenant_id, workflow, action })
    return checked.ok ? accept(null) : checked
  },
)
