import { ENDPOINTS, WATCH_HEADER } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { proveBrowser } from '@bonded/core/operations/browser/prove-browser'
import { viewForBrowser } from '@bonded/core/operations/session/session-view'
import { presentPublic } from '../response/present.ts'
import { serve } from '../serve.ts'

export const proveBrowserRoute = serve(
  ENDPOINTS.proveBrowser,
  async ({ service, caller, params, headers, body }) => {
    const proved = await proveBrowser(service, caller, {
      id: params.session_id,
      watchToken: headers[WATCH_HEADER],
      proof: body,
    })
    if (!proved.ok) return proved
    const { tenant } = caller.key
    const view = viewForBrowser(service, proved.value)
    return accept(['public', presentPublic(service.settings, view, tenant)])
  },
)
