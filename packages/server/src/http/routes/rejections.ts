import { ENDPOINTS, parseId, parseInstant, REJECTION_CURSOR } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { managedTenant } from '@bonded/core/operations/managed-tenant'
import { searchRejections } from '@bonded/core/operations/search-rejections'
import type { RejectionKey } from '@bonded/core/ports/tables/rejection-table'
import { presentRejections } from '../response/present-rejections.ts'
import { serve } from '../serve.ts'

const PAGE = '50'

export const listRejectionsRoute = serve(
  ENDPOINTS.listRejections,
  async ({ service, caller, query }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const since = query.since === undefined ? undefined : parseInstant(query.since)
    if (query.since !== undefined && since === undefined)
      return reject('invalid_parameter', { param: 'since' })
    const until = query.until === undefined ? undefined : parseInstant(query.until)
    if (query.until !== undefined && until === undefined)
      return reject('invalid_parameter', { param: 'until' })
    const page = await searchRejections(service, {
      tenantId: tenant.value,
      requestId: parseId('req', query.request_id ?? ''),
      sessionId: parseId('sess', query.session_id ?? ''),
      subjectRef: query.subject_ref,
      reason: query.reason,
      since,
      until,
      before: cursorOf(query.before ?? ''),
      limit: Number(query.limit ?? PAGE),
    })
    return accept(['rejections', presentRejections(page)])
  },
)

function cursorOf(text: string): RejectionKey | undefined {
  const [, at = '', request = ''] = REJECTION_CURSOR.exec(text) ?? []
  const requestId = parseId('req', request)
  return requestId && { at: Number(at), requestId }
}
