import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** A promise that waits until a server has closed. */
const AWAITED = /new Promise(?:<\w+>)?\([^\n]*\bclose\(/
const ENDS = /closeAllConnections\(|socket\.destroy\(|probe\.close\(/

// Node’s `close` waits for each connection that has sent nothing, and browsers open such ahead of
// need: the end of the server would last as long as they do.
test('what waits for the end of a server ends its connections', () => {
  const files = globSync('{packages,examples,proofs,tests}/**/*.ts', {
    cwd: ROOT,
    exclude: (path) => path.includes('node_modules'),
  })
  assert.ok(files.length > 1_000, 'the sources were found')
  const textOf = (file: string) => readFileSync(`${ROOT}/${file}`, 'utf8')
  const waiting = files.filter((file) => AWAITED.test(textOf(file)))
  assert.ok(waiting.includes('packages/server/src/http/connection/connection-guard.ts'))
  assert.deepEqual(
    waiting.filter((file) => !ENDS.test(textOf(file))),
    [],
  )
})
