import type { AuditEntry, AuditTarget } from '../../domain/audit.ts'
import type { AuditQuery } from '../../ports/tables/audit-table.ts'
import { partiesOf, personReference } from '../audit/audit.ts'
import type { Service } from '../service.ts'

/**
 * The entries of the audit log, by default oldest first. A target that names a user narrows them to
 * that user, and one that names only a tenant to that tenant.
 */
export async function listAudit(
  service: Service,
  { target, query }: { readonly target: AuditTarget; readonly query: AuditQuery },
): Promise<readonly AuditEntry[]> {
  const { tenantId, ...person } = target
  const isPerson = Object.values(person).some((id) => id !== undefined)
  const wanted = isPerson
    ? { ...query, person: await referenceOf(service, target) }
    : { ...query, tenantId }
  // No entry names a user who has no reference.
  if (isPerson && wanted.person === undefined) return []
  return service.store.read(({ audit }) => audit.list({ ...wanted, hasContent: true }))
}

async function referenceOf(service: Service, target: AuditTarget): Promise<string | undefined> {
  const { subjectId } = await service.store.read((tables) => partiesOf(tables, target))
  return subjectId && personReference(service, subjectId)
}
