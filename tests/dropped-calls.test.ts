import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { droppedCalls, returnsOf } from './dropped-calls.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('a unit of work runs each part of it, and looks at each result', () => {
  const files = globSync('packages/{core,store}/src/**/*.ts', {
    cwd: ROOT,
    exclude: (path) => path.includes('node_modules'),
  })
  const texts = files.map((file) => readFileSync(`${ROOT}/${file}`, 'utf8'))
  const returns = returnsOf(texts)
  assert.ok(returns.works.size > 100, 'the parts of units of work were found')
  assert.ok(returns.results.size > 20, 'the functions with a result were found')
  const found = files.flatMap((file, index) =>
    droppedCalls(file, texts[index] ?? '', returns).map((line) => `${file}:${line}`),
  )
  assert.deepEqual(found, [], 'use yield*, or return the rejection')
})

test('the check finds a part that is not run and a dropped result, and no other call', () => {
  const returns = returnsOf([
    'function* store(key: Key): Work<void> {}',
    'interface Rows {\n  move(id: Id, to: () => State): Work<boolean>\n}',
    'function* take<T>(call: T): Work<Result<T>> {}',
    'function now(): number {}',
  ])
  for (const dropping of ['store(1)', 'if (a) store(1)', 'rows.move(1, f)', 'yield* take(1)'])
    assert.deepEqual(droppedCalls('a.ts', `function* () {\n${dropping}\n}`, returns), [2], dropping)
  for (const passing of [
    'yield* store(1)',
    'yield* rows.move(1, f)',
    'yield* rows.take(1)',
    'return take(1)',
    'const taken = yield* take(1)',
    'now()',
    'each(() => store(1))',
  ])
    assert.deepEqual(droppedCalls('a.ts', `function* () {\n${passing}\n}`, returns), [], passing)
})
