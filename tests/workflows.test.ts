import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> } }>
  >
}

test('the workflow runs every check of .ci/run', () => {
  const checks = [...read('.ci/run').matchAll(/^check (\S+)$/gm)].map(([, name]) => name)
  const { jobs } = parse(read('.github/workflows/checks.yml')) as Workflow
  assert.ok(checks.length >= 10)
  assert.deepEqual(jobs.checks?.strategy?.matrix.check, checks)
})

test('every script that a workflow names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const file of globSync('.github/workflows/*.yml', { cwd: ROOT }))
    for (const [, name = ''] of read(file).matchAll(/npm run ([\w:]+)/g))
      assert.ok(name in scripts, `${file}: npm run ${name}`)
})

test('the files of GitHub are valid YAML', () => {
  const files = globSync('.github/**/*.yml', { cwd: ROOT })
  assert.ok(files.length >= 6)
  for (const file of files) assert.doesNotThrow(() => parse(read(file)), file)
})
