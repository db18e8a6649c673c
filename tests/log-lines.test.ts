import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { UNREADINESS } from '@bonded/contract'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('the guide explains every log line of the service, and no other', () => {
  const logged = globSync('packages/{ciba,cli,console,core,sandbox,server,store}/src/**/*.ts', {
    cwd: ROOT,
  }).flatMap((file) => [
    // The line of a request is written without the logger.
    ...[...read(file).matchAll(/"msg":"([^"]+)"/g)].map(([, message = '']) => message),
    ...[...read(file).matchAll(/\blog\??\.(?:info|warn|error)\(([\s\S]*?)\n? *\)(?:\n|,|;)/g)].map(
      ([, call = '']) => [...call.matchAll(/'([^']+)'/g)].at(-1)?.[1] ?? call,
    ),
  ])
  assert.ok(logged.length > 3, 'the log lines were found')
  const table = read('docs/guides/operate/metrics.md').split('## Log lines')[1] ?? ''
  const explained = [...table.matchAll(/^\| `([^`]+)` \| (?:info|warn|error) \|/gm)]
  assert.deepEqual(
    explained.map(([, message = '']) => message).toSorted(),
    [...new Set(logged)].toSorted(),
  )
})

test('a runbook explains every failing check of the readiness', () => {
  const runbooks = read('docs/guides/operate/alerts.md')
  for (const reason of Object.keys(UNREADINESS))
    assert.ok(runbooks.includes(`\`${reason}\``), reason)
})
