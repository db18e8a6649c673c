import { encodeBase64url, type TenantId } from '@bonded/contract'
import { idempotencyTime } from '@bonded/core/domain/lifetimes'
import type {
  Part,
  SearchedTable,
  StoredRow,
  SubjectDataTable,
  SubjectScope,
} from '@bonded/core/ports/tables/subject-data-table'
import type { Work } from '@bonded/core/ports/work'
import { columnNames, PERSONAL_DATA } from '../personal-data.ts'
import { changed, row, rows, sent, type SqlValue } from '../statement.ts'
import type { SessionKeys } from './session-keys.ts'

/** How many rows one transaction searches. They take some milliseconds. */
const PART_ROWS = 1_000

/** The key of each table by which it is searched, with a value before all others. */
const KEYS: { readonly [Table in SearchedTable]: readonly [key: string, first: SqlValue] } = {
  session: ['session_key', Number.MIN_SAFE_INTEGER],
  session_device: ['session_key', Number.MIN_SAFE_INTEGER],
  receipt: ['session_id', ''],
  rejection: ['request_id', ''],
  webhook_delivery: ['ordinal', 0],
}

/** The end of the name of a column that names a user, a phone, or a session, in any table. */
const NAMING = /(?:subject_id|device_id|session_id|subject_ref)$/

/** The columns whose text has references, and the forms that a reference has in it. */
const TEXTS: Readonly<Record<string, readonly [string, (text: string) => readonly string[]]>> = {
  receipt: ['jws', encodings],
  webhook_delivery: ['payload', (text) => [text]],
}

/** The tables that have one of these columns. */
const tablesWith = (...columns: readonly string[]): readonly string[] =>
  Object.keys(PERSONAL_DATA).filter((table) =>
    columnNames(table).some((column) => columns.includes(column)),
  )
const OF_SUBJECT = tablesWith('subject_id', 'device_id').filter((table) => !(table in KEYS))
const OF_SESSION = tablesWith('session_key', 'session_id').filter((table) => !(table in KEYS))

/** The rows of one subject in all tables, for its copy and its erasure. */
export function subjectDataTable(sessionKeys: SessionKeys): SubjectDataTable {
  return {
    *partEnd(table, after) {
      const [key, first] = KEYS[table]
      const found = yield* row(
        `select max(${key}) as last from (
           select ${key} from ${table} where ${key} > $1 order by ${key} limit ${PART_ROWS}) part`,
        [after ?? first],
      )
      return (found?.last ?? undefined) as string | number | undefined
    },

    rows: rowsOf,

    *delete(table, of, part) {
      const { condition, values } = conditionOf(table, of, part)
      return yield* changed(`delete from ${table} where ${condition}`, values)
    },

    *deleteSession({ id, ...times }) {
      const key = sessionKeys.of(id)
      yield* sent('delete from idempotency where session_began_at = $1 and session_id = $2', [
        idempotencyTime(times),
        id,
      ])
      yield* sent('delete from rejection where session_id = $1', [id])
      for (const table of tablesWith('session_key'))
        yield* sent(`delete from ${table} where session_key = $1`, [key])
    },

    *ofSubject(scope) {
      const found: Record<string, readonly StoredRow[]> = {}
      for (const table of [...ofSubject(scope), ...OF_SESSION])
        found[table] = yield* rowsOf(table, scope)
      return found
    },

    *deleteSubject(scope) {
      for (const table of ofSubject(scope)) {
        const { condition, values } = conditionOf(table, scope)
        yield* sent(`delete from ${table} where ${condition}`, values)
      }
    },
  }
}

/** The tables of the subject and its devices, or those in which a tenant has rows of it. */
function ofSubject({ tenantId }: SubjectScope): readonly string[] {
  return OF_SUBJECT.filter(
    (table) => tenantId === undefined || columnNames(table).includes('tenant_id'),
  )
}

function rowsOf(
  table: string,
  of: SubjectScope | TenantId,
  part?: Part,
): Work<readonly StoredRow[]> {
  const { condition, values } = conditionOf(table, of, part)
  return rows(`select * from ${table} where ${condition}`, values)
}

/** The condition for the rows of a subject, or of a tenant, in a table or a part of it. */
function conditionOf(table: string, of: SubjectScope | TenantId, part?: Part) {
  const columns = columnNames(table)
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const conditions: string[] = []
  if (part !== undefined) {
    const [key, first] = KEYS[table as SearchedTable]
    conditions.push(`${key} > ${value(part.after ?? first)}`, `${key} <= ${value(part.to)}`)
  }
  const tenantId = typeof of === 'string' ? of : of.tenantId
  if (tenantId !== undefined && columns.includes('tenant_id'))
    conditions.push(`tenant_id = ${value(tenantId)}`)
  else if (tenantId !== undefined && table === 'session_device')
    conditions.push(
      `session_key in (select session_key from session where tenant_id = ${value(tenantId)})`,
    )
  if (typeof of !== 'string') conditions.push(`(${linksOf(table, of, value).join(' or ')})`)
  return { condition: conditions.join(' and '), values }
}

/** What makes a row one of a subject. */
function linksOf(
  table: string,
  { subjectId, deviceIds, references, sessionIds, sessionKeys }: SubjectScope,
  value: (given: SqlValue) => string,
): readonly string[] {
  const refs = references.map(({ subjectRef }) => subjectRef)
  const known: Readonly<Record<string, readonly SqlValue[]>> = {
    subject_id: [subjectId],
    device_id: deviceIds,
    session_id: sessionIds,
    subject_ref: refs,
  }
  // An empty list is an error on PostgreSQL.
  const among = (column: string, given: readonly SqlValue[] = []) =>
    `${column} in (${['null', ...given.map(value)].join(', ')})`
  const naming = columnNames(table).filter((column) => NAMING.test(column))
  const [text, forms] = TEXTS[table] ?? ['', () => []]
  return [
    ...naming.map((column) => among(column, known[NAMING.exec(column)?.[0] ?? ''])),
    ...(naming.length === 0 ? [among('session_key', sessionKeys)] : []),
    // `like` does not compare exactly in SQLite.
    ...refs.flatMap(forms).map((form) => `replace(${text}, ${value(form)}, '') <> ${text}`),
  ]
}

/** The three forms that a text can have within a base64url text, without its ends. */
function encodings(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = new TextEncoder().encode(' '.repeat(offset) + text)
    const whole = encodeBase64url(bytes.subarray(0, bytes.length - (bytes.length % 3)))
    return whole.slice(offset === 0 ? 0 : 4)
  })
}
