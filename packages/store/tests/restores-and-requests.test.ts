import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '@bonded/core/ports/store'
import type { BatchStatement } from '../src/postgres/server/batch.ts'
import type { Connections } from '../src/postgres/server/connections.ts'
import { markedWhile, rejectUnfinishedRestore } from '../src/postgres/unfinished-restore.ts'
import { StoreDuringRequest } from '../src/tables/store-during-request.ts'

/** Connections to a database in a state, with the statements that ran. */
function restoring(state: { locked?: boolean; found?: boolean; relations?: number }) {
  const texts: string[] = []
  const row = { locked: true, found: false, relations: 0, ...state }
  const connection = {
    async run({ text }: BatchStatement) {
      texts.push(/^\w+ (?:\w+ )?\w+|^do/.exec(text)?.[0] ?? text)
      return [row]
    },
    release: () => void texts.push('release'),
  }
  const connections = {
    take: async () => connection,
    run: (work: (each: object) => unknown) => work(connection),
    settings: { address: { shown: 'the database' } },
  } as unknown as Connections
  return { connections, texts }
}

test('a restore marks an empty database until its end, and clears what one before has left', async () => {
  const run = async (state: object, restore = async () => 'restored') => {
    const { connections, texts } = restoring(state)
    const result = await markedWhile(connections, async () => {
      texts.push('restore')
      return restore()
    }).catch((failure: Error) => failure.message)
    return [result, texts.slice(1)]
  }
  assert.deepEqual(await run({ locked: false }), ['busy', ['release']])
  assert.deepEqual(await run({ relations: 1 }), [
    'not_empty',
    ['select to_regclass', 'select count', 'release'],
  ])
  const marked = [
    'select to_regclass',
    'select count',
    'create table unfinished_restore',
    'restore',
  ]
  assert.deepEqual(await run({}), [
    { result: 'restored' },
    [...marked, 'drop table unfinished_restore', 'release'],
  ])
  assert.deepEqual(await run({}, () => Promise.reject(new Error('no'))), [
    'no',
    [...marked, 'release'],
  ])
  const [result, texts] = await run({ found: true, relations: 9 })
  assert.deepEqual(result, { result: 'restored' })
  assert.deepEqual(texts, [
    'select to_regclass',
    'select pg_terminate_backend',
    'do',
    'restore',
    'drop table unfinished_restore',
    'release',
  ])
})

test('no node starts on a database whose restore did not finish', async () => {
  await rejectUnfinishedRestore(restoring({}).connections)
  await assert.rejects(rejectUnfinishedRestore(restoring({ found: true }).connections), (error) => {
    assert.ok(error instanceof StoreError)
    assert.deepEqual(
      [error.message, error.kind, error.where],
      [
        'the database cannot be used: a restore into it did not finish, so sessions of the backup may be live that were completed since. Run bonded restore again on this database, or use another one.',
        'unsuitable',
        'the database',
      ],
    )
    return true
  })
})

test('a store during a request is the store itself, with the cause in its writes only', async () => {
  const calls: unknown[][] = []
  const record =
    (name: string, answer: unknown) =>
    (...given: readonly unknown[]) => {
      calls.push([name, ...given])
      return answer
    }
  const inner = {
    write: record('write', Promise.resolve('written')),
    read: record('read', Promise.resolve('read')),
    newSessionId: record('newSessionId', 'sess_x'),
    during: record('during', 'another view'),
    health: record('health', Promise.resolve(['disk_full'])),
    hasClock: true,
    externalChanges: record('externalChanges', Promise.resolve([1])),
    [Symbol.asyncDispose]: record('dispose', Promise.resolve()),
  }
  const cause = { requestId: 'req_a' as never, keyId: 'key' }
  const store = new StoreDuringRequest(inner as never, cause)
  const unit = function* () {}
  const random = Uint8Array.of(1)
  const other = { requestId: 'req_b' as never, keyId: null }
  assert.deepEqual(
    [
      await store.write(unit),
      await store.read(unit),
      store.newSessionId(5, random),
      store.during(other),
      await store.health(),
      store.hasClock,
      await store.externalChanges(),
      await store[Symbol.asyncDispose](),
    ],
    ['written', 'read', 'sess_x', 'another view', ['disk_full'], true, [1], undefined],
  )
  assert.deepEqual(calls, [
    ['write', unit, cause],
    ['read', unit],
    ['newSessionId', 5, random],
    ['during', other],
    ['health'],
    ['externalChanges'],
    ['dispose'],
  ])
})
