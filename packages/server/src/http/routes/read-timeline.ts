import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { readTimeline } from '@bonded/core/operations/session/read-timeline'
import { serve } from '../serve.ts'

export const readTimelineRoute = serve(
  ENDPOINTS.readTimeline,
  async ({ service, caller, params }) => {
    const timeline = await readTimeline(service, caller, params.session_id)
    return timeline.ok ? accept(['timeline', timeline.value]) : timeline
  },
)
