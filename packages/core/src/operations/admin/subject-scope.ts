import type { SessionId } from '@bonded/contract'
import type { Part, SearchedTable, SubjectScope } from '../../ports/tables/subject-data-table.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { Service } from '../service.ts'
import { findSubjectId, type NamedSubject } from './subjects.ts'
import { subjectNotFound } from './operator-error.ts'

/**
 * Whose rows a command means: named by the reference of a tenant, those of that tenant. If no other
 * tenant knows the subject, also the subject itself.
 *
 * @throws {OperatorError} if the store has nothing of the subject
 */
export async function scopeOf(service: Service, named: NamedSubject): Promise<SubjectScope> {
  const subjectId = await findSubjectId(service, named)
  const found = await service.store.read(function* ({ subjects }) {
    const isBlocked = (yield* subjects.blockedAt(subjectId)) !== undefined
    const devices = yield* subjects.family(subjectId)
    return { isBlocked, devices, references: yield* subjects.references(subjectId) }
  })
  const { isBlocked, devices, references } = found
  if (!isBlocked && devices.length + references.length === 0) throw subjectNotFound(subjectId)
  const only = typeof named === 'string' ? undefined : named.tenantId
  const isKnownElsewhere = references.some(({ tenantId }) => tenantId !== only)
  const tenantId = isKnownElsewhere ? only : undefined
  const scope: SubjectScope = {
    subjectId,
    tenantId,
    deviceIds: devices.map(({ id }) => id),
    references: references.filter((each) => tenantId === undefined || each.tenantId === tenantId),
    sessionIds: [],
  }
  return { ...scope, sessionIds: await sessionIdsOf(service, scope) }
}

/** The sessions of a subject, also those that only a receipt or a rejection still names. */
async function sessionIdsOf(service: Service, scope: SubjectScope): Promise<readonly SessionId[]> {
  const ids = new Set<SessionId>()
  for (const [table, column] of [
    ['session', 'id'],
    ['receipt', 'session_id'],
    ['rejection', 'session_id'],
  ] as const)
    for await (const part of partsOf(service, table)) {
      const found = await service.store.read((tables) =>
        tables.subjectData.rows(table, scope, part),
      )
      for (const each of found) ids.add(each[column] as SessionId)
    }
  return [...ids]
}

/** The parts of a table, one after the other. */
export async function* partsOf(service: Service, table: SearchedTable): AsyncGenerator<Part> {
  for (let after: Part['after']; ; ) {
    const to = await service.store.read(({ subjectData }) => subjectData.partEnd(table, after))
    if (to === undefined) return
    yield { after, to }
    after = to
  }
}

/** Runs a unit for each part of a table, in a transaction of its own. */
export async function inParts<T>(
  service: Service,
  table: SearchedTable,
  unit: (tables: Tables, part: Part) => Work<T>,
): Promise<readonly T[]> {
  const results: T[] = []
  for await (const part of partsOf(service, table))
    results.push(await service.store.write((tables) => unit(tables, part)))
  return results
}
