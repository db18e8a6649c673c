import { ENDPOINTS, WATCH_HEADER } from '@bonded/contract'
import { mapResult } from '@bonded/core/domain/rejection'
import { recordContainment } from '@bonded/core/operations/browser/record-containment'
import { serve } from '../serve.ts'

export const reportContainmentRoute = serve(
  ENDPOINTS.reportContainment,
  async ({ service, caller, params, headers, body }) => {
    const recorded = await recordContainment(service, caller, {
      id: params.session_id,
      watchToken: headers[WATCH_HEADER],
      report: body,
    })
    return mapResult(recorded, () => null)
  },
)
