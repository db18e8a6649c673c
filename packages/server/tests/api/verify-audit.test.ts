import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { RequestId, TenantId } from '@bonded/contract'
import {
  type AuditEntry,
  auditLeaf,
  auditMarker,
  contentHash,
  hex,
  markedEntries,
} from '../../../core/src/domain/audit.ts'
import { RETENTION_BOUNDS } from '../../../core/src/domain/retention.ts'
import { beginLogAsOperator } from '../../../core/src/operations/admin/begin-receipt-log.ts'
import { reportReceiptLog } from '../../../core/src/operations/admin/report-receipt-log.ts'
import { verifyAudit } from '../../../core/src/operations/admin/verify-audit.ts'
import { recordAction } from '../../../core/src/operations/audit/audit.ts'
import { purgeLogs } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { listAudit } from '../../../core/src/operations/admin/list-audit.ts'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import {
  type ReceiptKeySet,
  verifyConsistency,
  verifyReceipt,
} from '../../../integrator/src/index.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'

type Values = Readonly<Record<string, string | number | null>>

/** Runs SQL as the owner of the database. */
async function tamper({ databaseFile, databaseUrl }: Harness, sql: string): Promise<void> {
  if (databaseUrl !== undefined) return void (await runSql(databaseUrl, sql))
  using database = new DatabaseSync(databaseFile)
  database.exec(sql)
}

const literal = (value: string | number | null) =>
  value === null
    ? 'null'
    : typeof value === 'number'
      ? String(value)
      : `'${value.replaceAll("'", "''")}'`

async function record(
  h: Harness,
  count: number,
  tenantId: TenantId | undefined = h.shop.tenant.id,
): Promise<void> {
  for (let number = 0; number < count; number++) {
    h.clock.advance(1)
    await recordAction(h.service, {
      action: 'tenant list',
      actor: {
        kind: 'console',
        name: 'alice',
        issuer: 'https://idp.example',
        address: '192.0.2.1',
      },
      requestId: 'req_0000000000000000000000' as RequestId,
      target: { tenantId },
      reason: 'T-1',
    })
  }
}

async function append(h: Harness): Promise<string> {
  while ((await appendReceipts(h.service)).done > 0);
  return (await h.call('GET', '/receipts/log/checkpoint')).text
}

const problemsOf = async (h: Harness, outside?: string) =>
  (await verifyAudit(h.service, outside)).problems

/** The rows of the audit log as the database has them. */
const rowsOf = (h: Harness): Promise<readonly Values[]> =>
  h.service.store.read(function* ({ audit }) {
    return (yield* audit.list({ limit: 1_000 })).map((entry) => ({
      number: entry.number,
      at: entry.at,
      action: entry.action,
      actor_kind: entry.actorKind,
      actor: entry.actor,
      issuer: entry.issuer,
      address: entry.address,
      request_id: entry.requestId,
      tenant_id: entry.tenantId,
      person: entry.person,
      target: entry.target,
      value_before: entry.valueBefore,
      value_after: entry.valueAfter,
      result: entry.result,
      reason: entry.reason,
      previous: entry.previous,
      content_hash: entry.contentHash,
    }))
  })

const set = (column: string, value: string | number | null, number: unknown) =>
  `update audit_entry set ${column} = ${literal(value)} where number = ${String(number)}`

test('finds each edited column, dropped row, back-dated row, and pair in another order', async () => {
  await using h = await harness()
  await record(h, 2)
  await append(h)
  await h.reach('completed')
  await record(h, 2)
  const outside = await append(h)
  assert.deepEqual(await problemsOf(h, outside), [])
  const rows = await rowsOf(h)
  assert.equal(rows.length, 4)

  for (const row of rows) {
    for (const [column, value] of Object.entries(row)) {
      const edited = typeof value === 'number' ? value - 1_000 : value === null ? 'x' : `${value}x`
      await tamper(h, set(column, edited, row.number))
      assert.notDeepEqual(await problemsOf(h), [], `${String(row.number)} ${column}`)
      await tamper(h, set(column, value, column === 'number' ? edited : row.number))
    }
    await tamper(h, `delete from audit_entry where number = ${String(row.number)}`)
    assert.match(
      (await problemsOf(h))[0] ?? '',
      new RegExp(`^Entry ${String(row.number)} is missing`),
    )
    await tamper(
      h,
      `insert into audit_entry (${Object.keys(row).join()})
       values (${Object.values(row).map(literal).join()})`,
    )
  }
  const swap = [
    'update audit_entry set number = -1 where number = 2',
    'update audit_entry set number = 2 where number = 4',
    'update audit_entry set number = 4 where number = -1',
  ].join(';')
  await tamper(h, swap)
  assert.notDeepEqual(await problemsOf(h), [])
  await tamper(h, swap)
  assert.deepEqual(await problemsOf(h, outside), [])
})

test('finds an edited entry although every later entry was made to continue it', async () => {
  await using h = await harness()
  await record(h, 4)
  await append(h)
  await record(h, 2)
  await append(h)
  await tamper(h, set('actor', 'mallory', 2))
  const list = () => h.service.store.read(({ audit }) => audit.list({ limit: 10 }))
  for (let number = 2; number < 6; number++) {
    const edited = (await list())[number - 1] as AuditEntry
    const leaf = hex(auditLeaf(h.service.keys.sha256Bytes, edited))
    await tamper(h, set('previous', leaf, number + 1))
  }
  assert.deepEqual(await problemsOf(h), [
    'Entry 4 is not what the log of receipts has.',
    'Entry 6 is not what the log of receipts has.',
  ])
})

test('finds a log that was cut together with its entries, by a checkpoint that was stored outside', async () => {
  await using h = await harness()
  await record(h, 2)
  await append(h)
  await tamper(
    h,
    `create table old_log as select * from receipt_log;
     create table old_tile as select * from receipt_log_tile`,
  )
  await record(h, 2)
  const outside = await append(h)
  await tamper(
    h,
    `delete from audit_entry where number > 2; delete from receipt_log; delete from receipt_log_tile;
     insert into receipt_log select * from old_log;
     insert into receipt_log_tile select * from old_tile;
     drop table old_log; drop table old_tile`,
  )
  assert.deepEqual(await problemsOf(h), [])
  assert.match((await problemsOf(h, outside))[0] ?? '', /has 4 leaves, and the log of receipts 2/)

  await record(h, 3)
  await append(h)
  assert.deepEqual(await problemsOf(h, outside), [
    'The log of receipts is not the one of the given checkpoint.',
  ])
})

test('finds entries that were dropped from the end only', async () => {
  await using h = await harness()
  await record(h, 3)
  await append(h)
  await tamper(h, 'delete from audit_entry where number = 3')
  assert.deepEqual(await problemsOf(h), ['Entry 3 is missing.'])
})

test('verifies the log of receipts over more than one tile, and its checkpoints of a closed log', async () => {
  await using h = await harness()
  for (let run = 0; run < 130; run++) {
    await record(h, 1)
    await appendReceipts(h.service)
  }
  const first = await append(h)
  await record(h, 2)
  const lost = await append(h)
  const { entries, logged, log } = await verifyAudit(h.service, first)
  assert.deepEqual([entries, logged, log?.size], [132, 132, 262])
  await beginLogAsOperator(h.service, 'operator')
  assert.deepEqual(await problemsOf(h, lost), [])
  await record(h, 1)
  await append(h)
  assert.deepEqual(await problemsOf(h, first), [])
  assert.match(
    (await problemsOf(h, first.replace('\n260\n', '\n999\n')))[0] ?? '',
    /The service closed that log with 262 \(operator\)/,
  )
  assert.match((await problemsOf(h, first.replace('bond', 'x')))[0] ?? '', /not a log of this/)
})

test('keeps receipts and checkpoints verifiable in a log with audit entries', async () => {
  await using h = await harness()
  await record(h, 3)
  const older = await append(h)
  const { session } = await h.reach('completed')
  h.clock.advance(10_000)
  await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  await record(h, 2)
  const newer = await append(h)
  const { receipt, proof } = (
    await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  ).body as { receipt: string; proof: string }
  const jwks = JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
  assert.equal((await verifyReceipt({ receipt, proof, jwks })).decision, 'accept')
  const [from, to] = [older, newer].map((note) => note.split('\n')[1])
  const consistency = (await h.call('GET', `/receipts/log/consistency/${from}/${to}`)).text
  const verdict = await verifyConsistency({ older, newer, proof: consistency, jwks })
  assert.equal(verdict.decision, 'accept')
})

test('without receipt keys, entries follow each other and are not checkpointed', async () => {
  await using h = await harness({ receiptSigner: 'off' })
  await record(h, 3)
  const report = await verifyAudit(h.service, undefined)
  assert.deepEqual(report, { entries: 3, purged: 0, logged: 0, log: undefined, problems: [] })
  await tamper(h, set('actor', 'mallory', 2))
  assert.deepEqual(await problemsOf(h), ['Entry 3 does not continue entry 2.'])
  h.clock.advance(61_000)
  const { warnings } = await reportReceiptLog(h.service)
  assert.match(warnings.join(), /^The audit entry 1 of \S+ is not in the log of receipts/)
})

const retentionBounds = { ...RETENTION_BOUNDS, audit: { min: 30, max: 50 } }
const BOUNDS = { settings: { retentionBounds } }

test('verifies what is left after each entry has lost its content at the end of its retention', async () => {
  await using h = await harness(BOUNDS)
  const brief = await h.addTenant({ name: 'Brief', retention: { audit: 40 } })
  await record(h, 2, brief.tenant.id)
  await record(h, 1)
  await record(h, 1, brief.tenant.id)
  const outside = await append(h)
  const purgeAfter = async (days: number) => {
    h.clock.advance(days * 24 * 60 * 60_000)
    await purgeLogs(h.service)
    const { entries, purged, problems } = await verifyAudit(h.service, outside)
    const listed = await listAudit(h.service, { target: {}, query: { limit: 10 } })
    return { entries, purged, problems, listed: listed.map(({ number }) => number) }
  }
  const none = { entries: 4, problems: [] }
  assert.deepEqual(await purgeAfter(39), { ...none, purged: 0, listed: [1, 2, 3, 4] })
  assert.deepEqual(await purgeAfter(1), { ...none, purged: 3, listed: [3] })
  const rows = await rowsOf(h)
  assert.deepEqual(
    rows.map(({ number, actor, reason, person }) => [number, actor, reason, person]),
    [
      [2, '', null, null],
      [3, 'alice', 'T-1', null],
      [4, '', null, null],
    ],
  )
  // What has no content is as hard to change as what has.
  for (const row of rows.slice(0, 2))
    for (const column of ['number', 'at', 'tenant_id', 'previous', 'content_hash']) {
      const edited = typeof row[column] === 'number' ? row[column] - 1_000 : 'x'
      await tamper(h, set(column, edited, row.number))
      assert.notDeepEqual(await problemsOf(h), [], `${String(row.number)} ${column}`)
      const number = column === 'number' ? edited : row.number
      await tamper(h, set(column, row[column] ?? null, number))
    }
  await tamper(h, 'delete from audit_entry where number = 4')
  assert.deepEqual(await problemsOf(h), ['Entry 4 is missing.'])
})

test('ends every entry at the longest retention, and continues after the last one', async () => {
  await using h = await harness(BOUNDS)
  await record(h, 2)
  await record(h, 1, undefined)
  await append(h)
  h.clock.advance(50 * 24 * 60 * 60_000)
  await purgeLogs(h.service)
  assert.deepEqual(
    (await rowsOf(h)).map(({ number, action }) => [number, action]),
    [[3, '']],
  )
  await record(h, 1)
  const outside = await append(h)
  const { entries, purged, logged, problems } = await verifyAudit(h.service, outside)
  assert.deepEqual([entries, purged, logged, problems], [4, 3, 4, []])
})

test('finds an entry that lost its content early, and rows that were dropped with it', async () => {
  await using h = await harness()
  await record(h, 3)
  await append(h)
  const hashOf = contentHash(
    h.service.keys.sha256Bytes,
    (await h.service.store.read(({ audit }) => audit.last())) as AuditEntry,
  )
  const [, , last] = (await rowsOf(h)) as [Values, Values, Values]
  await h.service.store.write(({ audit }) => audit.empty({ number: 3 } as AuditEntry, hashOf))
  assert.deepEqual(await problemsOf(h), [
    'Entry 3 has lost its content before its retention ended.',
  ])
  await tamper(h, 'delete from audit_entry where number < 3')
  assert.equal((await problemsOf(h)).length, 1)
  await tamper(h, set('at', Number(last.at) - 400 * 24 * 60 * 60_000, 3))
  assert.deepEqual(await problemsOf(h), ['Entry 3 is not what the log of receipts has.'])
})

test('a marker states its number of entries, and no hash is a marker', () => {
  assert.equal(markedEntries(auditMarker(2 ** 40)), 2 ** 40)
  assert.equal(markedEntries(new Uint8Array(32)), undefined)
})
