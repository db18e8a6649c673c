import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry } from '../../../core/src/domain/audit.ts'
import type { ClosedLog, LogHead } from '../../../core/src/ports/tables/receipt-log-table.ts'
import type { StoredReceipt } from '../../../core/src/ports/tables/receipt-table.ts'
import type { StoredRejection } from '../../../core/src/ports/tables/rejection-table.ts'
import type { SubjectReference } from '../../../core/src/ports/tables/subject-table.ts'
import type {
  WebhookDelivery,
  WebhookEndpoint,
} from '../../../core/src/ports/tables/webhook-table.ts'
import { sessionWith } from '../../../core/tests/records.ts'
import { columnNames } from '../../src/personal-data.ts'
import { membersOf, recordReader } from '../../src/tables/record.ts'
import { sessionFromRow } from '../../src/tables/session-row.ts'
import { deliveryFromRow, endpointFromRow } from '../../src/tables/webhook-rows.ts'

/** The compiler rejects a list that lacks a member of the record, or has another one. */
const keysOf = <T>(members: Readonly<Record<keyof T, true>>) => Object.keys(members).toSorted()

const on = true

/** Each table, the members of its record, and the columns that no member stores. */
const RECORDS: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    'receipt',
    keysOf<StoredReceipt>({
      sessionId: on,
      state: on,
      tenantId: on,
      workflow: on,
      action: on,
      browserCommitment: on,
      jws: on,
      madeAt: on,
      logIndex: on,
    }),
    [],
  ],
  [
    'receipt_log',
    keysOf<LogHead>({
      epoch: on,
      begunAt: on,
      server: on,
      isSynchronous: on,
      refused: on,
      size: on,
      auditSize: on,
      checkpoint: on,
      checkpointSize: on,
      cosigned: on,
      cosignedSize: on,
      cosignedAt: on,
      witnessDueAt: on,
    }),
    ['number'],
  ],
  [
    'receipt_log_closed',
    keysOf<ClosedLog>({
      epoch: on,
      nextEpoch: on,
      checkpoint: on,
      checkpointSize: on,
      cosigned: on,
      cosignedSize: on,
      closedAt: on,
      reason: on,
      statement: on,
    }),
    [],
  ],
  [
    'rejection',
    keysOf<StoredRejection>({
      tenantId: on,
      at: on,
      requestId: on,
      sessionId: on,
      subjectRef: on,
      reason: on,
      step: on,
    }),
    [],
  ],
  [
    'pairwise_subject',
    keysOf<SubjectReference>({
      tenantId: on,
      subjectId: on,
      subjectRef: on,
      blockedAt: on,
      inboxPausedUntil: on,
      inboxReports: on,
    }),
    [],
  ],
  [
    'audit_entry',
    keysOf<AuditEntry>({
      number: on,
      at: on,
      action: on,
      actorKind: on,
      actor: on,
      issuer: on,
      address: on,
      requestId: on,
      tenantId: on,
      person: on,
      target: on,
      valueBefore: on,
      valueAfter: on,
      result: on,
      reason: on,
      previous: on,
      contentHash: on,
    }),
    [],
  ],
]

for (const [table, members, others] of RECORDS)
  test(`the columns of ${table} have the members of its record, and no other`, () => {
    const exceptions = Object.fromEntries(others.map((column) => [column, null]))
    const found = membersOf<Record<string, unknown>>(columnNames(table), exceptions)
    assert.deepEqual(found.map(([, member]) => member).toSorted(), members)
  })

test('the row of a session has every member of a session, and no other', () => {
  const expected = Object.keys(sessionWith()).toSorted()
  assert.deepEqual(Object.keys(sessionFromRow({ policy: '{}' })).toSorted(), expected)
})

test('the row of a webhook endpoint has every member of it, and no other', () => {
  const expected = keysOf<WebhookEndpoint>({
    id: on,
    tenantId: on,
    url: on,
    events: on,
    scheme: on,
    loggedCharacters: on,
    sealedSecrets: on,
    previousUntil: on,
    createdAt: on,
    disabledAt: on,
    disabledReason: on,
    failures: on,
    pausedUntil: on,
    leasedUntil: on,
    auditPosition: on,
  })
  assert.deepEqual(Object.keys(endpointFromRow({ events: null })).toSorted(), expected)
})

test('the row of a webhook delivery has every member of it, and no other', () => {
  const expected = keysOf<WebhookDelivery>({
    ordinal: on,
    eventId: on,
    endpointId: on,
    tenantId: on,
    type: on,
    payload: on,
    createdAt: on,
    state: on,
    dueAt: on,
    attempts: on,
    history: on,
  })
  assert.deepEqual(Object.keys(deliveryFromRow({ history: '[]' })).toSorted(), expected)
})

test('leaves out a column that a newer program has added', () => {
  const read = recordReader<StoredRejection>(columnNames('rejection'))
  const row = { tenant_id: 'ten_1', at: 1, added_later: 'x' }
  assert.deepEqual(read(row), {
    tenantId: 'ten_1',
    at: 1,
    requestId: null,
    sessionId: null,
    subjectRef: null,
    reason: null,
    step: null,
  })
})
