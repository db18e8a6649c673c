import type { Endpoint, TenantId } from '@bonded/contract'
import { mapResult, type Result } from '@bonded/core/domain/rejection'
import { managedTenant } from '@bonded/core/operations/tenant/managed-tenant'
import { type Call, type EndpointResponse, type Route, serve } from '../serve.ts'

type Managing = Endpoint & { readonly callers: readonly ('backend' | 'portal')[] }

/** Joins an endpoint with which a tenant manages itself to what it does, and to its response. */
export function manage<const E extends Managing, T>(
  endpoint: E,
  act: (call: Call<E>, tenantId: TenantId) => Promise<Result<T>>,
  present: (value: T) => EndpointResponse<E>,
): Route {
  return serve(endpoint, async (call) => {
    const tenant = managedTenant(call.caller)
    if (!tenant.ok) return tenant
    const done = await act(call, tenant.value)
    return mapResult(done, (value) => present(value))
  })
}
