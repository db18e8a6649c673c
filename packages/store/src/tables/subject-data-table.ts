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
import { changed, type Row, row, rows, sent, type SqlValue } from '../statement.ts'
import { rootKeyIdFrom } from './session-row.ts'
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

const OF_DEVICE = ['device_event', 'device_motion', 'device_receipt', 'push_subscription'] as const
const OF_SESSION = ['session_event', 'session_device', 'session_old_id'] as const

/** The rows of one subject in all tables, for its copy and its erasure. */
// oxlint-disable-next-line max-lines-per-function -- a statement or two for each method
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

    *rows(table, of, part) {
      const { condition, values } = rowsOf(table, of, part)
      const found = yield* rows(`select * from ${table} where ${condition}`, values)
      return table === 'session'
        ? found.map((each) => ({ ...each, root_key_id: rootKeyIdFrom(each) }))
        : found
    },

    *delete(table, of, part) {
      const { condition, values } = rowsOf(table, of, part)
      return yield* changed(`delete from ${table} where ${condition}`, values)
    },

    *ofSession({ id, ...times }) {
      const key = yield* sessionKeys.of(id)
      const found: Record<string, readonly Row[]> = {}
      for (const table of OF_SESSION) found[table] = yield* rowsBy(table, 'session_key', [key])
      found.idempotency = yield* rows(
        'select * from idempotency where session_began_at = $1 and session_id = $2',
        [idempotencyTime(times), id],
      )
      return found
    },

    *deleteSession({ id, ...times }) {
      const key = yield* sessionKeys.of(id)
      yield* sent('delete from idempotency where session_began_at = $1 and session_id = $2', [
        idempotencyTime(times),
        id,
      ])
      yield* sent('delete from rejection where session_id = $1', [id])
      for (const table of [...OF_SESSION, 'session'])
        yield* sent(`delete from ${table} where session_key = $1`, [key])
    },

    *ofSubject(scope) {
      const { subjectId, deviceIds, tenantId } = scope
      const found: Record<string, readonly Row[]> = {}
      for (const table of ['pairwise_subject', 'device', 'blocked_subject'])
        found[table] = yield* rowsBy(table, 'subject_id', [subjectId])
      for (const table of [...OF_DEVICE, 'device_continuity'])
        found[table] = yield* rowsBy(table, 'device_id', deviceIds)
      if (tenantId === undefined) return found
      const own = (all: readonly Row[] = []) => all.filter((each) => each.tenant_id === tenantId)
      return {
        pairwise_subject: own(found.pairwise_subject),
        device_continuity: own(found.device_continuity),
      }
    },

    *deleteSubject({ subjectId, deviceIds, tenantId }) {
      const [at, values] = tenantId === undefined ? ['', []] : [' and tenant_id = $2', [tenantId]]
      for (const id of deviceIds)
        yield* sent(`delete from device_continuity where device_id = $1${at}`, [id, ...values])
      yield* sent(`delete from pairwise_subject where subject_id = $1${at}`, [subjectId, ...values])
      if (tenantId !== undefined) return
      for (const id of deviceIds)
        for (const table of OF_DEVICE)
          yield* sent(`delete from ${table} where device_id = $1`, [id])
      for (const table of ['device', 'blocked_subject'])
        yield* sent(`delete from ${table} where subject_id = $1`, [subjectId])
    },
  }
}

function* rowsBy(
  table: string,
  column: string,
  values: readonly SqlValue[],
): Work<readonly StoredRow[]> {
  const found: StoredRow[] = []
  for (const value of values)
    found.push(...(yield* rows(`select * from ${table} where ${column} = $1`, [value])))
  return found
}

/** The condition for the rows of a subject, or of a tenant, in a part of a table. */
function rowsOf(table: SearchedTable, of: SubjectScope | TenantId, { after, to }: Part) {
  const [key, first] = KEYS[table]
  if (typeof of === 'string')
    return {
      condition: `${key} > $1 and ${key} <= $2 and tenant_id = $3`,
      values: [after ?? first, to, of],
    }
  const { tenantId, deviceIds, references, sessionIds } = of
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const among = (column: string, given: readonly string[]) =>
    given.length === 0 ? '1 = 0' : `${column} in (${given.map(value).join(', ')})`
  const named = (column: string) =>
    references.map(
      (each) => `(tenant_id = ${value(each.tenantId)} and ${column} = ${value(each.subjectRef)})`,
    )
  // `like` does not compare exactly in SQLite.
  const holding = (column: string, texts: readonly string[]) =>
    texts.map((text) => `replace(${column}, ${value(text)}, '') <> ${column}`)
  const refs = references.map(({ subjectRef }) => subjectRef)
  const range = `${key} > ${value(after ?? first)} and ${key} <= ${value(to)}`
  const links = {
    session: () => [
      among('device_id', deviceIds),
      ...named('subject_ref'),
      ...named('wanted_subject_ref'),
    ],
    session_device: () => [among('device_id', deviceIds)],
    receipt: () => [among('session_id', sessionIds), ...holding('jws', refs.flatMap(encodings))],
    rejection: () => [among('session_id', sessionIds), ...named('subject_ref')],
    webhook_delivery: () => [among('session_id', sessionIds), ...holding('payload', refs)],
  }[table]()
  const atTenant =
    tenantId === undefined
      ? ''
      : table === 'session_device'
        ? ` and session_key in (select session_key from session where tenant_id = ${value(tenantId)})`
        : ` and tenant_id = ${value(tenantId)}`
  return { condition: `${range}${atTenant} and (${links.join(' or ')})`, values }
}

/** The three forms that a text can have within a base64url text, without its ends. */
function encodings(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = new TextEncoder().encode(' '.repeat(offset) + text)
    const whole = encodeBase64url(bytes.subarray(0, bytes.length - (bytes.length % 3)))
    return whole.slice(offset === 0 ? 0 : 4)
  })
}
