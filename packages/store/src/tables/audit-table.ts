import type { AuditEntry } from '@bonded/core/domain/audit'
import type { AuditQuery, AuditTable } from '@bonded/core/ports/tables/audit-table'
import type { Dialect } from '../dialect.ts'
import { row, rows, sent, type SqlValue } from '../statement.ts'
import { dueRows } from './due-rows.ts'
import { columnNames } from '../personal-data.ts'
import { membersOf, recordReader } from './record.ts'

const MEMBERS = membersOf<AuditEntry>(columnNames('audit_entry'))
const INSERT = `insert into audit_entry (${MEMBERS.map(([column]) => column).join(', ')})
  values (${MEMBERS.map((_, index) => `$${index + 1}`).join(', ')})`
const entryFromRow = recordReader<AuditEntry>(columnNames('audit_entry'))

/** The audit log as SQL. Only the end of its retention changes or deletes an entry. */
// oxlint-disable-next-line max-lines-per-function -- one table, a statement or two for each method
export function auditTable(dialect: Dialect): AuditTable {
  return {
    lock: () => dialect.lockAudit(),

    *last() {
      const found = yield* row('select * from audit_entry order by number desc limit 1', [])
      return found && entryFromRow(found)
    },

    *add(entry) {
      yield* sent(
        INSERT,
        MEMBERS.map(([, member]) => entry[member]),
      )
    },

    *list(query) {
      const { where, values } = conditions(query)
      const found = yield* rows(
        `select * from audit_entry where ${where.join(' and ')}
         order by number ${query.newestFirst ? 'desc' : 'asc'} limit $1`,
        values,
      )
      return found.map(entryFromRow)
    },

    *due(due) {
      const ofTenants = yield* dueRows(dialect, { kind: 'audit', columns: ['*'], due })
      const ofAll = yield* rows(
        `select * from audit_entry where at between 0 and $1 and content_hash is null
         order by at limit $2`,
        [due.now - due.usualMs, due.limit],
      )
      const byNumber = new Map([...ofTenants, ...ofAll].map((found) => [found.number, found]))
      return [...byNumber.values()].map(entryFromRow)
    },

    *empty({ number }, contentHash) {
      yield* sent(
        `update audit_entry set content_hash = $2, action = '', actor_kind = '', actor = '',
           issuer = null, address = null, request_id = '', person = null, target = '',
           value_before = null, value_after = null, result = '', reason = null
         where number = $1 and content_hash is null`,
        [number, contentHash],
      )
    },

    *dropEmpty() {
      yield* sent(
        `delete from audit_entry where content_hash is not null
           and number < (select audit_size from receipt_log where number = 1)
           and number < coalesce(
             (select number from audit_entry where content_hash is null order by number limit 1) - 1,
             (select max(number) from audit_entry))`,
        [],
      )
    },

    *personKey(id) {
      const found = yield* row('select key from audit_person_key where subject_id = $1', [id])
      return found && String(found.key)
    },

    *addPersonKey(id, key) {
      yield* sent(
        `insert into audit_person_key (subject_id, key) values ($1, $2)
         on conflict (subject_id) do nothing`,
        [id, key],
      )
    },
  }
}

function conditions(query: AuditQuery): {
  readonly where: readonly string[]
  readonly values: readonly SqlValue[]
} {
  const { since, until, tenantId, person, action, hasContent, after = 0, before, limit } = query
  const { without = [] } = query
  const given: readonly (readonly [string, SqlValue | undefined])[] = [
    ['number >', after],
    ['number <', before],
    ['at >=', since],
    ['at <=', until],
    ['tenant_id =', tenantId],
    ['person =', person],
    ['action =', action],
    // An entry without content has no action.
    ['action <>', hasContent ? '' : undefined],
    ...without.map((name) => ['action <>', name] as const),
  ]
  const wanted = given.filter((one): one is readonly [string, SqlValue] => one[1] !== undefined)
  return {
    where: wanted.map(([condition], index) => `${condition} $${index + 2}`),
    values: [limit, ...wanted.map(([, value]) => value)],
  }
}
