import type { AuditEntry } from '@bonded/core/domain/audit'
import type { AuditQuery, AuditTable } from '@bonded/core/ports/tables/audit-table'
import type { Dialect } from '../dialect.ts'
import { type Row, row, rows, sent, type SqlValue } from '../statement.ts'
import { dueRows } from './due-rows.ts'

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
        `insert into audit_entry (number, at, action, actor_kind, actor, issuer, address,
           request_id, tenant_id, person, target, value_before, value_after, result, reason, previous)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
        [
          entry.number,
          entry.at,
          entry.action,
          entry.actorKind,
          entry.actor,
          entry.issuer,
          entry.address,
          entry.requestId,
          entry.tenantId,
          entry.person,
          entry.target,
          entry.valueBefore,
          entry.valueAfter,
          entry.result,
          entry.reason,
          entry.previous,
        ],
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

function entryFromRow(found: Row): AuditEntry {
  return {
    number: Number(found.number),
    at: Number(found.at),
    action: String(found.action),
    actorKind: found.actor_kind as AuditEntry['actorKind'],
    actor: String(found.actor),
    issuer: found.issuer as string | null,
    address: found.address as string | null,
    requestId: found.request_id as AuditEntry['requestId'],
    tenantId: found.tenant_id as AuditEntry['tenantId'],
    person: found.person as string | null,
    target: String(found.target),
    valueBefore: found.value_before as string | null,
    valueAfter: found.value_after as string | null,
    result: String(found.result),
    reason: found.reason as string | null,
    previous: String(found.previous),
    contentHash: found.content_hash as string | null,
  }
}
