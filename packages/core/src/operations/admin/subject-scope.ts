import type { SessionId } from '@bonded/contract'
import type {
  Part,
  SearchedTable,
  StoredRow,
  SubjectScope,
} from '../../ports/tables/subject-data-table.ts'
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
    sessionKeys: [],
  }
  const sessions = await rowsIn(service, 'session', scope)
  // Receipts and rejections outlive their sessions.
  const others = [
    ...(await rowsIn(service, 'receipt', scope)),
    ...(await rowsIn(service, 'rejection', scope)),
  ]
  const ids = [...sessions.map(({ id }) => id), ...others.map((each) => each.session_id)]
  const sessionKeys = sessions.map((session) => Number(session.session_key))
  return { ...scope, sessionKeys, sessionIds: [...new Set(ids as SessionId[])] }
}

/** The rows of a subject in a table that is searched. */
export async function rowsIn(
  service: Service,
  table: SearchedTable,
  scope: SubjectScope,
): Promise<readonly StoredRow[]> {
  const found: StoredRow[] = []
  for await (const part of partsOf(service, table))
    found.push(
      ...(await service.store.read(({ subjectData }) => subjectData.rows(table, scope, part))),
    )
  return found
}

/** The parts of a table, one after the other. */
async function* partsOf(service: Service, table: SearchedTable): AsyncGenerator<Part> {
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
