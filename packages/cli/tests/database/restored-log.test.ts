import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CREATE_TENANT, type Machine, machine, until } from '../../../../tests/harness/process.ts'
import {
  checkpointOf,
  originOf,
  receiptRows,
  verifyLog,
} from '../../../../tests/harness/stored-log.ts'

/** The leaves of an audited command: its entry, and the marker behind it. */
const AUDITED = 2
const WITHIN_MS = 60_000
const WITH_ORIGIN = { env: { BONDED_PUBLIC_ORIGIN: 'http://localhost:1' } }

function insert({ databaseFile }: Machine, count: number): void {
  using database = new DatabaseSync(databaseFile, { timeout: 10_000 })
  database.exec(receiptRows(count))
}

test('after a restore another log begins, and a stored checkpoint verifies or names the closed log', async () => {
  using source = machine(WITH_ORIGIN)
  source.json(...CREATE_TENANT)
  const backup = join(source.folder, 'one.backup')
  const [three, five] = await (async () => {
    await using service = await source.serve()
    insert(source, 3)
    const first = await checkpointOf(service, AUDITED + 3)
    await source.jsonMeanwhile('backup', backup)
    insert(source, 2)
    const second = await checkpointOf(service, AUDITED + 5)
    await service.stop('SIGTERM')
    return [first, second]
  })()
  const { receipt_log: begun } = source.json('restore', backup, '--replace')
  assert.deepEqual([begun.closed, begun.entries], [originOf(three), AUDITED + 3])

  await using service = await source.serve()
  insert(source, 1)
  // The restore is audited, too.
  const four = await checkpointOf(service, 2 * AUDITED + 4)
  assert.equal(originOf(four), begun.origin)
  assert.match(
    await verifyLog(source, service, { older: three, newer: four }),
    /^The log only grew: .*, 8 entries\./,
  )
  assert.match(
    await verifyLog(source, service, { older: five, newer: four }),
    /The service closed the log \S+ at \S+ with 5 entries \(restore\), and \S+ continues it/,
  )
  assert.match(source.run('doctor').stdout, /Closed logs before it: 1/)
})

test('a node refuses to sign a database that was copied back, until the operator begins another log', async () => {
  using operator = machine(WITH_ORIGIN)
  operator.json(...CREATE_TENANT)
  const copy = join(operator.folder, 'copy.db')
  const three = await (async () => {
    await using service = await operator.serve()
    insert(operator, 2)
    await checkpointOf(service, AUDITED + 2)
    using database = new DatabaseSync(operator.databaseFile, { timeout: 10_000 })
    database.exec(`vacuum into '${copy}'`)
    insert(operator, 1)
    const checkpoint = await checkpointOf(service, AUDITED + 3)
    await service.stop('SIGTERM')
    return checkpoint
  })()
  assert.equal(readFileSync(join(operator.folder, 'receipt-log.checkpoint'), 'utf8'), three)
  for (const suffix of ['-wal', '-shm']) rmSync(operator.databaseFile + suffix, { force: true })
  copyFileSync(copy, operator.databaseFile)

  await using service = await operator.serve()
  insert(operator, 4)
  await until(async () => {
    await fetch(`${service.origin}/health/alive`)
    return /receipt_log_refused/.test(service.output()) || undefined
  }, WITHIN_MS)
  assert.match(
    operator.run('doctor').stdout,
    /No node signs the log of receipts\. This node knows 5/,
  )
  const begun = operator.run('receipt', 'new-epoch')
  // The new epoch is audited, too.
  const next = await checkpointOf(service, 2 * AUDITED + 6)
  assert.equal(
    begun.stdout,
    `Closed the log ${originOf(three)} with 4 entries.\nThe log ${originOf(next)} continues it. ` +
      'Tell your tenants, and the operators of the witnesses.\n',
    begun.stderr,
  )
  assert.match(
    await verifyLog(operator, service, { older: three, newer: next }),
    /The service closed the log \S+ at \S+ with 4 entries \(operator\)/,
  )
})
