import { parseId, type TenantId } from '@bonded/contract'
import { OperatorError } from '../operations/admin/tenants.ts'

/** @throws {OperatorError} where the text is not a tenant's id */
export function tenantIdOf(text: string): TenantId {
  const id = parseId('ten', text)
  if (id === undefined)
    throw new OperatorError(`${text} is not a tenant's id: ten_ and 22 characters`)
  return id
}
