import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import {
  type ReceiptKeySet,
  verifyConsistency,
  verifyReceipt,
} from '../../../integrator/src/index.ts'
import type { Row } from '../../../store/src/statement.ts'
import { rows, sent } from '../../../store/src/statement.ts'
import { LOG_DELAY_SECONDS } from '../../../core/src/domain/receipt-log.ts'
import { beginLogAsOperator } from '../../../core/src/operations/admin/begin-receipt-log.ts'
import { reportReceiptLog } from '../../../core/src/operations/admin/report-receipt-log.ts'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import { type KeptCheckpoint, LogRefused } from '../../../core/src/ports/kept-checkpoint.ts'
import type { StoredReceipt } from '../../../core/src/ports/tables/receipt-table.ts'

const ORIGIN = 'bond.example/receipts/log'
const TABLES = ['receipt', 'receipt_log', 'receipt_log_closed', 'receipt_log_tile'] as const
/** Longer than a node that has started waits for the others. */
const START_MS = 10_000

/** A node's memory, as its file keeps it. */
function memory(): KeptCheckpoint {
  let kept = ''
  return { read: async () => kept, store: async (checkpoint) => void (kept = checkpoint) }
}

/** A service whose node has kept nothing yet, and runs for longer than it waits after its start. */
async function knowingHarness(): Promise<Harness> {
  const h = await harness()
  Object.assign(h.service, { keptCheckpoint: memory() })
  h.clock.advance(START_MS)
  return h
}

const textAt = async (h: Harness, path: string) => (await h.call('GET', path)).text
const keysOf = async (h: Harness) =>
  JSON.parse(await textAt(h, '/.well-known/jwks.json')) as ReceiptKeySet
const checkpointOf = (h: Harness) => textAt(h, '/receipts/log/checkpoint')
const [originOf, sizeOf] = [
  (checkpoint: string) => checkpoint.split('\n')[0],
  (checkpoint: string) => Number(checkpoint.split('\n')[1]),
]
const receiptOf = async (h: Harness, { id }: { id: string }) =>
  (await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })).body as {
    receipt: string
    proof: string | null
  }

/** Stores receipts without their sessions, and lets the log take them. */
async function addReceipts(h: Harness, count: number, node = h.service): Promise<void> {
  await h.service.store.write(function* (tables) {
    for (let number = 0; number < count; number++)
      yield* tables.receipts.add({
        sessionId: `sess_${h.service.random.base62(22)}` as StoredReceipt['sessionId'],
        state: 'bonded',
        tenantId: h.shop.tenant.id,
        workflow: 'w',
        action: 'a',
        browserCommitment: null,
        jws: h.service.random.base62(43),
        madeAt: h.clock.now(),
        logIndex: null,
      })
  })
  while ((await appendReceipts(node)).done > 0);
}

/** The rows of receipts and of their log, as a backup has them. */
function backUp(h: Harness): Promise<ReadonlyMap<string, readonly Row[]>> {
  return h.service.store.write(function* () {
    const found = new Map<string, readonly Row[]>()
    for (const table of TABLES) found.set(table, yield* rows(`select * from ${table}`, []))
    return found
  })
}

/** Makes the tables what they were, without the command that restores a backup. */
function putBack(h: Harness, backup: ReadonlyMap<string, readonly Row[]>): Promise<void> {
  return h.service.store.write(function* () {
    for (const [table, found] of backup) {
      yield* sent(`delete from ${table}`, [])
      for (const row of found) {
        const names = Object.keys(row)
        const marks = names.map((_, index) => `$${index + 1}`)
        yield* sent(
          `insert into ${table} (${names.join()}) values (${marks.join()})`,
          Object.values(row),
        )
      }
    }
  })
}

async function compare(h: Harness, older: string, withClosed = true) {
  const newer = await checkpointOf(h)
  const path = `/receipts/log/consistency/${sizeOf(older)}/${sizeOf(newer)}`
  const proof = sizeOf(older) <= sizeOf(newer) ? await textAt(h, path) : ''
  const closed = withClosed ? await textAt(h, '/receipts/log/closed') : undefined
  return verifyConsistency({ older, newer, proof, jwks: await keysOf(h), closed })
}

async function untilLogged(h: Harness, session: { id: string }): Promise<string> {
  const from = h.clock.now()
  for (;;) {
    const { proof } = await receiptOf(h, session)
    if (proof !== null) return proof
    assert.ok(h.clock.now() < from + LOG_DELAY_SECONDS * 1_000, 'later than the receipt promises')
    h.clock.advance(500)
    for (let turns = 0; turns < 50; turns++) await turn()
  }
}

test('no node signs a log that a restore has rewound, until the operator begins another one', async () => {
  await using h = await knowingHarness()
  await addReceipts(h, 5)
  const [backup, five] = [await backUp(h), await checkpointOf(h)]
  await addReceipts(h, 5)
  const ten = await checkpointOf(h)
  assert.equal(sizeOf(ten), 10)

  await putBack(h, backup)
  // Another node, whose data folder is new.
  const other = { ...h.service, keptCheckpoint: memory() }
  await assert.rejects(addReceipts(h, 8), LogRefused)
  await assert.rejects(appendReceipts(other), LogRefused)
  assert.equal(await checkpointOf(h), five)
  const { warnings } = await reportReceiptLog(h.service)
  assert.match(warnings[0] ?? '', /knows 10 entries of the log, and the database has 5.*new-epoch/)

  const begun = await beginLogAsOperator(h.service, 'operator')
  assert.deepEqual([begun.closed, begun.entries], [ORIGIN, 5])
  await addReceipts(h, 1)
  const next = await checkpointOf(h)
  assert.deepEqual([originOf(next), sizeOf(next)], [begun.origin, 14])
  assert.notEqual(begun.origin, ORIGIN)
  await appendReceipts(other)

  const kept = await compare(h, five)
  assert.equal(kept.decision, 'accept', JSON.stringify(kept))
  const lost = await compare(h, ten)
  assert.deepEqual(lost.decision === 'reject' && [lost.reason, lost.closed?.origin], [
    'log_closed',
    ORIGIN,
  ])
  assert.deepEqual(lost.decision === 'reject' && lost.closed, {
    origin: ORIGIN,
    continuedBy: begun.origin,
    entries: 5,
    closedAt: new Date(h.clock.now()).toISOString(),
    reason: 'operator',
  })
  for (const older of [five, ten]) {
    const unnamed = await compare(h, older, false)
    assert.equal(unnamed.decision === 'reject' && unnamed.reason, 'log_mismatch')
  }
})

test('logs that were closed one after another are published and verified in their order', async () => {
  await using h = await knowingHarness()
  await addReceipts(h, 5)
  const checkpoints = [await checkpointOf(h)]
  for (let closed = 0; closed < 3; closed++) {
    const backup = await backUp(h)
    // Entries of this log that the next one lacks.
    await addReceipts(h, 4)
    checkpoints.push(await checkpointOf(h))
    await putBack(h, backup)
    await beginLogAsOperator(h.service, 'restore')
    await addReceipts(h, 1)
    h.clock.advance(1_000)
  }
  const origins = [...new Set(checkpoints.map(originOf)), originOf(await checkpointOf(h))]
  assert.equal(origins.length, 4)
  const { closed } = JSON.parse(await textAt(h, '/receipts/log/closed')) as {
    closed: readonly { origin: string; continued_by: string }[]
  }
  assert.deepEqual(
    closed.map(({ origin, continued_by }) => [origin, continued_by]),
    origins.slice(0, 3).map((origin, index) => [origin, origins[index + 1]]),
  )
  const [first = '', ...lost] = checkpoints
  const kept = await compare(h, first)
  assert.equal(kept.decision, 'accept', JSON.stringify(kept))
  for (const older of lost) {
    const verdict = await compare(h, older)
    assert.ok(verdict.decision === 'reject')
    assert.deepEqual([verdict.reason, verdict.closed?.origin], ['log_closed', originOf(older)])
  }
})

test('a statement that the service did not sign closes no log', async () => {
  await using h = await harness()
  await addReceipts(h, 3)
  const older = await checkpointOf(h)
  await beginLogAsOperator(h.service, 'operator')
  await addReceipts(h, 1)
  const newer = await checkpointOf(h)
  const jwks = await keysOf(h)
  const closed = await textAt(h, '/receipts/log/closed')
  const given = { older, newer, jwks, proof: await textAt(h, '/receipts/log/consistency/3/4') }
  assert.equal((await verifyConsistency({ ...given, closed })).decision, 'accept')
  for (const wrong of [
    closed.replaceAll('\\n3\\n', '\\n2\\n'),
    closed.replace('closes', 'opens'),
    closed.replace('operator\\n', 'operator\\nmore\\n'),
    '{}',
    '',
  ]) {
    const verdict = await verifyConsistency({ ...given, closed: wrong })
    assert.equal(verdict.decision === 'reject' && verdict.reason, 'log_mismatch', wrong)
  }
})

test('receipts of a closed log verify, also those that only the next log has', async () => {
  await using h = await knowingHarness()
  const { session: early } = await h.reach('completed')
  await untilLogged(h, early)
  const { session: late } = await h.reach('completed')
  const { receipt } = await receiptOf(h, late)
  const backup = await backUp(h)
  const lost = await untilLogged(h, late)

  await putBack(h, backup)
  const begun = await beginLogAsOperator(h.service, 'restore')
  await untilLogged(h, late)
  const { session: newest } = await h.reach('completed')
  await untilLogged(h, newest)
  const jwks = await keysOf(h)
  const originsOf = async (session: { id: string }) => {
    const { receipt: jws, proof } = await receiptOf(h, session)
    const verdict = await verifyReceipt({ receipt: jws, proof: proof ?? '', jwks })
    assert.ok(verdict.decision === 'accept', JSON.stringify(verdict))
    return [verdict.claims.log_origin, verdict.checkpoint?.origin]
  }
  assert.deepEqual(await originsOf(early), [ORIGIN, ORIGIN])
  assert.deepEqual(await originsOf(late), [ORIGIN, begun.origin])
  assert.deepEqual(await originsOf(newest), [begun.origin, begun.origin])
  // The proof that was handed out for the lost entry stays valid.
  assert.equal((await verifyReceipt({ receipt, proof: lost, jwks })).decision, 'accept')
})

test('an older backup that is put back after another log began is not signed under the old name', async () => {
  await using h = await knowingHarness()
  await addReceipts(h, 4)
  const backup = await backUp(h)
  await beginLogAsOperator(h.service, 'restore')
  await addReceipts(h, 1)
  await putBack(h, backup)
  await assert.rejects(addReceipts(h, 1), /has signed the log .*, which the database does not know/)
})

test('entries that were changed in the database are not signed', async () => {
  await using h = await knowingHarness()
  await addReceipts(h, 4)
  const backup = await backUp(h)
  await addReceipts(h, 2)
  const forked = { ...h.service, keptCheckpoint: undefined }
  await putBack(h, backup)
  await addReceipts(h, 3, forked)
  await assert.rejects(addReceipts(h, 1), /first 6 entries .* are not those that this node knows/)
})

test('a node that has just started leaves the signature of an existing log to the others', async () => {
  await using h = await harness()
  await addReceipts(h, 2)
  await h.restart()
  Object.assign(h.service, { keptCheckpoint: memory() })
  await addReceipts(h, 1)
  assert.equal(sizeOf(await checkpointOf(h)), 2)
  h.clock.advance(START_MS)
  for (let turns = 0; turns < 50; turns++) await turn()
  await addReceipts(h, 1)
  assert.equal(sizeOf(await checkpointOf(h)), 4)
})
