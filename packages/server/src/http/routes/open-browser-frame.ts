import { ENDPOINTS, WATCH_HEADER } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { openBrowserFrame } from '@bonded/core/operations/browser/open-browser-frame'
import { presentFrame } from '../response/present.ts'
import { serve } from '../serve.ts'

export const openBrowserFrameRoute = serve(
  ENDPOINTS.openBrowserFrame,
  async ({ service, caller, params, headers, body }) => {
    const opened = await openBrowserFrame(service, caller, {
      id: params.session_id,
      watchToken: headers[WATCH_HEADER],
      parentOrigin: body.parent_origin,
    })
    if (!opened.ok) return opened
    const { tenant } = caller.key
    const frame = presentFrame(opened.value, { tenant, now: service.clock.now() })
    return frame === undefined ? reject('session_not_live') : accept(['frame', frame])
  },
)
