import type { SessionId } from '@bonded/contract'
import type { SearchedTable, StoredRow, StoredRows } from '../../ports/tables/subject-data-table.ts'
import type { Service } from '../service.ts'
import { partsOf, scopeOf } from './subject-scope.ts'
import type { NamedSubject } from './subjects.ts'

/**
 * Everything that the store has of a subject, or that one tenant has of it: the stored rows, by
 * table. A phone number is decrypted.
 *
 * @throws {OperatorError} if the store has nothing of the subject
 */
export async function exportSubject(service: Service, named: NamedSubject): Promise<StoredRows> {
  const { store } = service
  const scope = await scopeOf(service, named)
  const rows: Record<string, StoredRow[]> = {}
  const add = (found: StoredRows) => {
    for (const [table, own] of Object.entries(found)) (rows[table] ??= []).push(...own)
  }
  add(await store.read((tables) => tables.subjectData.ofSubject(scope)))
  const tables: readonly SearchedTable[] = [
    'session',
    'session_device',
    'receipt',
    'rejection',
    'webhook_delivery',
  ]
  for (const table of tables)
    for await (const part of partsOf(service, table)) {
      const found = await store.read(({ subjectData }) => subjectData.rows(table, scope, part))
      add({ [table]: found })
      if (table !== 'session') continue
      for (const { id, created_at: createdAt, session_ttl_ms: ttlMs } of found) {
        const times = { createdAt: Number(createdAt), sessionTtlMs: Number(ttlMs) }
        const session = { id: id as SessionId, ...times }
        const dependent = await store.read(({ subjectData }) => subjectData.ofSession(session))
        // The devices of other users that failed on the session are not the subject's.
        add({ ...dependent, session_device: [] })
      }
    }
  return { ...rows, session: (rows.session ?? []).map((session) => withNumber(service, session)) }
}

function withNumber({ keys }: Service, session: StoredRow): StoredRow {
  const { phone_number: sealed, root_key_id: keyId, id } = session
  if (typeof sealed !== 'string') return session
  const number = keys.openNumber(String(keyId), id as SessionId, sealed).reveal()
  return { ...session, phone_number: number }
}
