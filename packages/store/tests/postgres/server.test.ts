import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { dropDatabase, newDatabase, startPostgres } from '../servers/postgres.ts'

test('a PostgreSQL server of the tests restarts after a crash with what was committed', async () => {
  await using server = await startPostgres()
  const [first, second] = [await server.newDatabase(), await server.newDatabase()]
  await server.run('create table note (text text); insert into note values ($$kept$$)', first)
  const crashed = server.pid()
  await server.stop('immediate')
  await assert.rejects(server.run('select 1', first))
  await server.start()
  assert.notEqual(server.pid(), crashed)
  assert.deepEqual(await server.run('select text from note', first), [{ text: 'kept' }])
  await assert.rejects(server.run('select text from note', second), /does not exist/)
  await dropDatabase(first)
  await assert.rejects(server.run('select 1', first), /does not exist/)
  await server.stop('fast')
})

test('a stopped PostgreSQL server of the tests leaves no data behind', async () => {
  const server = await startPostgres()
  await server.stop('immediate')
  assert.equal(existsSync(server.folder), true)
  await server[Symbol.asyncDispose]()
  assert.equal(existsSync(server.folder), false)
})

test('every test has a database of its own', async () => {
  const [one, other] = [await newDatabase(), await newDatabase()]
  assert.notEqual(one, other)
  for (const url of [one, other]) await dropDatabase(url)
})
