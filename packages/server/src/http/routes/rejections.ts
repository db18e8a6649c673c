import { ENDPOINTS, parseId, parseInstant, REJECTION_CURSOR } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { searchRejections } from '@bonded/core/operations/tenant/search-rejections'
import type { RejectionKey } from '@bonded/core/ports/tables/rejection-table'
import { presentRejections } from '../response/present-rejections.ts'
import { manage } from './manage.ts'

const PAGE = '50'

export const listRejectionsRoute = manage(
  ENDPOINTS.listRejections,
  async ({ service, query }, tenantId) => {
    const since = query.since === undefined ? undefined : parseInstant(query.since)
    if (query.since !== undefined && since === undefined)
      return reject('invalid_parameter', { param: 'since' })
    const until = query.until === undefined ? undefined : parseInstant(query.until)
    if (query.until !== undefined && until === undefined)
      return reject('invalid_parameter', { param: 'until' })
    const page = await searchRejections(service, {
      tenantId,
      requestId: parseId('req', query.request_id ?? ''),
      sessionId: parseId('sess', query.session_id ?? ''),
      subjectRef: query.subject_ref,
      reason: query.reason,
      since,
      until,
      before: cursorOf(query.before ?? ''),
      limit: Number(query.limit ?? PAGE),
    })
    return accept(page)
  },
  (page) => ['rejections', presentRejections(page)],
)

function cursorOf(text: string): RejectionKey | undefined {
  const [, at = '', request = ''] = REJECTION_CURSOR.exec(text) ?? []
  const requestId = parseId('req', request)
  return requestId && { at: Number(at), requestId }
}
