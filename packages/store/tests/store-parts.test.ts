import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchQueue } from '../src/postgres/batch-queue.ts'
import { classify } from '../src/postgres/postgres-errors.ts'
import type { BatchStatement } from '../src/postgres/server/batch.ts'
import { Connection } from '../src/postgres/server/connection.ts'
import { SharedReads } from '../src/postgres/shared-reads.ts'
import { Transaction } from '../src/postgres/transaction.ts'
import { changed, changedOnce, row, rowOfEach, rows, sent } from '../src/statement.ts'

const withCode = (code: string, others: object = {}) =>
  Object.assign(new Error(`failed with ${code}`), { code, ...others })

/** A connection over a client that answers with what a test gives it. */
function connectionOf(answer: (text: string, index: number) => unknown) {
  const calls: { text: string; values: readonly unknown[]; name?: string }[] = []
  const events: string[] = []
  const client = {
    warnings: 0,
    origin: { cluster: '7', timeline: '0000000A', started: 's' },
    async query(asked: { text: string; values: readonly unknown[]; name?: string }) {
      calls.push(asked)
      const given = await answer(asked.text, calls.length - 1)
      if (given instanceof Error) throw given
      return given
    },
    release: (failure?: Error) => void events.push(`release ${failure?.name ?? 'well'}`),
    destroy: (failure: Error) => void events.push(`destroy: ${failure.message}`),
  }
  const pool = {
    nameOf: (text: string) => `name of ${text}`,
    schemaChanged: () => void events.push('schema changed'),
    released: () => void events.push('released'),
  }
  return { connection: new Connection(client as never, pool as never), client, calls, events }
}

test('a statement returns its rows or its count, and has a name only with values', async () => {
  const { connection, calls } = connectionOf(() => ({ rows: [{ a: 1 }], rowCount: 3 }))
  assert.deepEqual(await connection.run({ text: 's', values: [1] }), [{ a: 1 }])
  assert.equal(await connection.run({ text: 'c', values: [], counts: true }), 3)
  assert.deepEqual(calls, [
    { text: 's', values: [1], name: 'name of s' },
    { text: 'c', values: [] },
  ])
  assert.equal(connection.server, '7/0000000A')
  await assert.rejects(connection.run({ text: 'u', values: [1, undefined] as never }), {
    message: 'no value for $2',
  })
  assert.equal(calls.length, 2)
})

test('the failure that began the end of a transaction is reported, not its consequence', async () => {
  const first = withCode('23505')
  const ahead = connectionOf((text) => (text === 'ahead' ? first : withCode('25P02')))
  ahead.connection.sendAhead({ text: 'ahead', values: [] })
  await assert.rejects(ahead.connection.run({ text: 'next', values: [] }), first)
  const good = connectionOf((text) => (text === 'ahead' ? first : { rows: [], command: 'COMMIT' }))
  good.connection.sendAhead({ text: 'ahead', values: [] })
  await assert.rejects(good.connection.run({ text: 'next', values: [] }), first)
  await assert.rejects(good.connection.commit(), first)
  const later = connectionOf((text) => (text === 'one' ? first : withCode('25P02')))
  for (const text of ['one', 'two', 'three'])
    await assert.rejects(later.connection.run({ text, values: [] }), first)
})

test('a commit says whether the server committed, and fails with a warning', async () => {
  for (const [command, committed] of [
    ['COMMIT', true],
    ['ROLLBACK', false],
  ] as const) {
    const { connection, calls } = connectionOf(() => ({ command }))
    assert.equal(await connection.commit(), committed)
    assert.deepEqual(
      calls.map(({ text }) => text),
      ['commit'],
    )
  }
  const warned = connectionOf(() => {
    warned.client.warnings++
    return { command: 'COMMIT' }
  })
  await assert.rejects(warned.connection.commit(), (failure: unknown) => {
    assert.equal((failure as { code?: string }).code, '08007')
    assert.equal(classify(failure).kind, 'lost')
    return true
  })
})

test('a connection goes back as it is, or is closed where its server must not be used', async () => {
  const well = connectionOf(() => ({ rows: [] }))
  await well.connection.abandon()
  assert.deepEqual(
    well.calls.map(({ text }) => text),
    ['rollback'],
  )
  assert.deepEqual(well.events, ['released', 'release well'])
  const broken = connectionOf(() => withCode('08006'))
  await broken.connection.abandon()
  assert.deepEqual(broken.events, ['released', 'release Error'])
  const readOnly = connectionOf(() => withCode('25006'))
  await assert.rejects(readOnly.connection.run({ text: 'x', values: [] }))
  readOnly.connection.release()
  assert.deepEqual(readOnly.events, ['released', 'release Error'])
  const outdated = connectionOf(() => withCode('0A000', { routine: 'RevalidateCachedQuery' }))
  await assert.rejects(outdated.connection.run({ text: 'x', values: [] }))
  outdated.connection.release()
  assert.deepEqual(outdated.events, ['schema changed', 'released', 'release well'])

  const rejecting = (isRejected: boolean) => ({ isRejected: () => isRejected }) as never
  const old = connectionOf(() => ({ rows: [] }))
  old.connection.closeIfRejected(rejecting(false))
  assert.deepEqual(old.events, [])
  old.connection.closeIfRejected(rejecting(true))
  old.connection.release()
  assert.deepEqual(old.events, [
    'destroy: another server was promoted, or two servers accept writes',
    'released',
    'release ClosedConnection',
  ])
})

test('a connection whose server does not respond is closed, and one that waits for nothing is not', async () => {
  const answered = Promise.withResolvers<object>()
  const { connection, events } = connectionOf(() => answered.promise)
  connection.closeIfHanging(Number.MAX_VALUE)
  const asked = connection.run({ text: 'x', values: [] })
  connection.closeIfHanging(0)
  assert.deepEqual(events, [])
  connection.closeIfHanging(Number.MAX_VALUE)
  assert.deepEqual(events, ['destroy: the connection hangs'])
  answered.resolve({ rows: [] })
  await asked
  connection.closeIfHanging(Number.MAX_VALUE)
  assert.equal(events.length, 1)
})

test('a queue runs at most so many batches, and puts back what did not fit before all others', async () => {
  const batches: string[] = []
  const ends: (() => void)[] = []
  const queue: BatchQueue<string> = new BatchQueue({
    maxRunning: 1,
    async run() {
      const items = queue.take(3)
      if (batches.length === 0) queue.putBack(items.splice(1))
      batches.push(items.join(''))
      await new Promise<void>((resolve) => ends.push(resolve))
    },
  })
  for (const item of 'abcde') queue.add(item)
  assert.equal(queue.waiting, 5)
  const turn = () => new Promise(setImmediate)
  await turn()
  await turn()
  assert.deepEqual([batches, queue.waiting], [['a'], 4])
  ends[0]?.()
  await turn()
  await turn()
  assert.deepEqual([batches, queue.waiting], [['a', 'bcd'], 1])
  ends[1]?.()
  await turn()
  await turn()
  assert.deepEqual([batches, queue.waiting], [['a', 'bcd', 'e'], 0])
})

test('reads of one turn share a message, and each gets the answer to its own statement', async () => {
  const messages: string[][] = []
  const alone: string[] = []
  const reads = new SharedReads({
    tables: {} as never,
    async run(statements: readonly BatchStatement[]) {
      messages.push(statements.map(({ text, values }) => `${text} ${values.join()}`))
      return statements.map(({ text, values }) => ({
        rows: [{ of: `${text} ${values.join()}` }],
        count: 1,
        command: 'SELECT',
      }))
    },
    async inSnapshot(unit) {
      alone.push(unit.name)
      return 'alone'
    },
  })
  const ask = (text: string, value: number) =>
    reads.read(function* () {
      return (yield* row(text, [value]))?.['of']
    })
  const thrown = new Error('after its answer')
  const asked = [
    ask('a', 1),
    ask('b', 1),
    ask('a', 1),
    ask('a', 2),
    reads.read(
      // oxlint-disable-next-line require-yield -- it answers from memory
      function* () {
        return 'without a statement'
      },
    ),
    reads.read(function* failing() {
      yield* row('f', [1])
      throw thrown
    }),
    reads.read(() => {
      throw thrown
    }),
    reads.read(function* twoStatements() {
      yield* row('a', [1])
      yield* row('c', [1])
    }),
    reads.read(function* together() {
      yield* rowOfEach([])
    }),
  ]
  assert.equal(reads.waiting, 9)
  const answers = await Promise.allSettled(asked)
  assert.deepEqual(
    answers.map((each) => (each.status === 'fulfilled' ? each.value : each.reason)),
    ['a 1', 'b 1', 'a 1', 'a 2', 'without a statement', thrown, thrown, 'alone', 'alone'],
  )
  assert.deepEqual(messages, [['a 1', 'b 1', 'a 2', 'f 1']])
  assert.deepEqual(alone.toSorted(), ['together', 'twoStatements'])
})

test('each unit of a message that failed runs alone', async () => {
  const reads = new SharedReads({
    tables: {} as never,
    run: () => Promise.reject(new Error('the message failed')),
    inSnapshot: async (unit) => `${unit.name} alone`,
  })
  const units = [
    function* one() {
      yield* row('a', [])
    },
    function* two() {
      yield* row('b', [])
    },
  ]
  assert.deepEqual(await Promise.all(units.map((unit) => reads.read<unknown>(unit))), [
    'one alone',
    'two alone',
  ])
})

/** A connection that records the batches of a transaction. */
function batchesOf(command = 'COMMIT') {
  const batches: string[][] = []
  const ends: string[] = []
  const connection = {
    async runBatch(statements: readonly BatchStatement[]) {
      batches.push(statements.map(({ text }) => text))
      return statements.map(({ text }) => ({ rows: [{ text }], count: 7, command }))
    },
    release: () => void ends.push('release'),
    async abandon() {
      ends.push('abandon')
    },
  } as unknown as Connection
  return { batches, connection, ends }
}

test('statements with unused results share the message of the next one, in their order', async () => {
  for (const isCareful of [false, true]) {
    const { batches, connection, ends } = batchesOf()
    const begin = [{ text: 'begin', values: [] }]
    const transaction = new Transaction(connection, { begin, isCareful })
    const found = await transaction.drive(
      (function* () {
        yield* sent('sent', [])
        const once = yield* changedOnce('once', [])
        const all = yield* rows('rows', [])
        const count = yield* changed('counted', [])
        yield* sent('last', [])
        return [once, all, count]
      })(),
    )
    await transaction.commit()
    const checked = 'with changed as (once returning 1) select 1 / count(*) from changed'
    assert.deepEqual(found, [isCareful ? 7 : 1, [{ text: 'rows' }], 7])
    assert.deepEqual(
      batches,
      isCareful
        ? [['begin', 'sent', 'once'], ['rows'], ['counted'], ['last', 'commit']]
        : [['begin', 'sent', checked, 'rows'], ['counted'], ['last', 'commit']],
    )
    assert.deepEqual(ends, ['release'])
  }
  const undone = new Transaction(batchesOf('ROLLBACK').connection, { begin: [], isCareful: true })
  await assert.rejects(undone.commit(), {
    message: 'the store refused to write: the server rolled back',
  })
  const missing = new Transaction(batchesOf().connection, { begin: [], isCareful: true })
  await assert.rejects(missing.drive(sent('x', ['a', undefined as never])), {
    message: 'no value for $2',
  })
})
