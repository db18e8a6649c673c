import type { RejectionPage, RejectionQuery } from '../../ports/tables/rejection-table.ts'
import type { Service } from '../service.ts'

/** Why requests were rejected, newest first: of a tenant, or for the operator of all of them. */
export function searchRejections(
  { store }: Service,
  query: RejectionQuery,
): Promise<RejectionPage> {
  return store.read((tables) => tables.rejections.list(query))
}
