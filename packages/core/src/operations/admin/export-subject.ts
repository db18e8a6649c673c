import type { SessionId } from '@bonded/contract'
import {
  SEARCHED_TABLES,
  type StoredRow,
  type StoredRows,
} from '../../ports/tables/subject-data-table.ts'
import type { Service } from '../service.ts'
import { rowsIn, scopeOf } from './subject-scope.ts'
import type { NamedSubject } from './subjects.ts'

/**
 * Everything that the store has of a subject, or that one tenant has of it: the stored rows, by
 * table. A phone number is decrypted.
 *
 * @throws {OperatorError} if the store has nothing of the subject
 */
export async function exportSubject(service: Service, named: NamedSubject): Promise<StoredRows> {
  const scope = await scopeOf(service, named)
  const rows: Record<string, readonly StoredRow[]> = {
    ...(await service.store.read(({ subjectData }) => subjectData.ofSubject(scope))),
  }
  for (const table of SEARCHED_TABLES) rows[table] = await rowsIn(service, table, scope)
  return { ...rows, session: (rows.session ?? []).map((session) => withNumber(service, session)) }
}

function withNumber({ keys }: Service, session: StoredRow): StoredRow {
  const { phone_number: sealed, root_key_id: keyId, id } = session
  if (typeof sealed !== 'string') return session
  const number = keys.openNumber(String(keyId), id as SessionId, sealed).reveal()
  return { ...session, phone_number: number }
}
