import type { RejectionList } from '@bonded/contract'
import { iso } from '@bonded/core/domain/iso'
import type { RejectionPage } from '@bonded/core/ports/tables/rejection-table'

export function presentRejections({ rejections, next }: RejectionPage): RejectionList {
  return {
    rejections: rejections.map(({ at, requestId, sessionId, subjectRef, reason, step }) => ({
      at: iso(at),
      request_id: requestId,
      session_id: sessionId,
      subject_ref: subjectRef,
      reason,
      step,
    })),
    next: next && `${next.at}.${next.requestId}`,
  }
}
