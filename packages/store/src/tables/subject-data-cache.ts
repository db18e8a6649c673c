import type { SubjectDataTable } from '@bonded/core/ports/tables/subject-data-table'
import { cachedTable } from './cached-table.ts'
import type { RowCaches } from './row-cache.ts'

/** Clears every cache when rows of a subject are deleted, which is rare. */
export function subjectDataCache(table: SubjectDataTable, caches: RowCaches): SubjectDataTable {
  const clearing = { write: () => caches.clear() }
  return cachedTable<SubjectDataTable>(table, {
    delete: clearing,
    deleteSession: clearing,
    deleteSubject: clearing,
    partEnd: 'passed',
    rows: 'passed',
    ofSubject: 'passed',
  })
}
