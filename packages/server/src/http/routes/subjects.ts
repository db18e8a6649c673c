import { ENDPOINTS } from '@bonded/contract'
import { changeSubjectAtTenant, readSubject } from '@bonded/core/operations/tenant/subject-devices'
import { presentSubject } from '../response/present-subject.ts'
import { manage } from './manage.ts'

export const listSubjectDevicesRoute = manage(
  ENDPOINTS.listSubjectDevices,
  ({ service, params }, tenantId) =>
    readSubject(service, { tenantId, subjectRef: params.subject_ref }),
  (found) => ['subject', presentSubject(found)],
)

export const blockSubjectRoute = manage(
  ENDPOINTS.blockSubject,
  ({ service, params }, tenantId) =>
    changeSubjectAtTenant(service, { tenantId, subjectRef: params.subject_ref, verb: 'block' }),
  (blocked) => ['subject', presentSubject(blocked)],
)

export const unblockSubjectRoute = manage(
  ENDPOINTS.unblockSubject,
  ({ service, params }, tenantId) =>
    changeSubjectAtTenant(service, { tenantId, subjectRef: params.subject_ref, verb: 'unblock' }),
  (unblocked) => ['subject', presentSubject(unblocked)],
)
