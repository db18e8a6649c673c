import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** The only function that writes output, and the log, which must not end a service. */
const WRITERS = ['packages/cli/src/program/output.ts', 'packages/server/src/log.ts']

test('every command prints through one function, which reports lost output', () => {
  const sources = globSync(
    '{packages/{ciba,cli,console,sandbox,server,service}/src,proofs}/**/*.ts',
    { cwd: ROOT },
  )
  assert.ok(sources.includes(WRITERS[0] as string))
  const others = sources.filter((path) => {
    const code = readFileSync(join(ROOT, path), 'utf8').replaceAll(/^\s*(?:\*|\/\/).*$/gm, '')
    return (
      !WRITERS.includes(path) && /\bconsole\.(?:log|info)\(|stdout\.write\b|\bfd: 1\b/.test(code)
    )
  })
  assert.deepEqual(others, [])
})
