import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { changeSubjectAtTenant, readSubject } from '@bonded/core/operations/subject-devices'
import { managedTenant } from '@bonded/core/operations/managed-tenant'
import { presentSubject } from '../response/present-subject.ts'
import { serve } from '../serve.ts'

export const listSubjectDevicesRoute = serve(
  ENDPOINTS.listSubjectDevices,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const named = { tenantId: tenant.value, subjectRef: params.subject_ref }
    const found = await readSubject(service, named)
    return found.ok ? accept(['subject', presentSubject(found.value)]) : found
  },
)

export const blockSubjectRoute = serve(
  ENDPOINTS.blockSubject,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const named = { tenantId: tenant.value, subjectRef: params.subject_ref }
    const blocked = await changeSubjectAtTenant(service, { ...named, verb: 'block' })
    return blocked.ok ? accept(['subject', presentSubject(blocked.value)]) : blocked
  },
)

export const unblockSubjectRoute = serve(
  ENDPOINTS.unblockSubject,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const named = { tenantId: tenant.value, subjectRef: params.subject_ref }
    const unblocked = await changeSubjectAtTenant(service, { ...named, verb: 'unblock' })
    return unblocked.ok ? accept(['subject', presentSubject(unblocked.value)]) : unblocked
  },
)
