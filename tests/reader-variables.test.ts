import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { SETTINGS } from '../packages/server/src/settings/settings.ts'
import { machine } from './harness/process.ts'

const ROOT = join(import.meta.dirname, '..')
const m = machine()
after(() => m[Symbol.dispose]())

const VARIABLE = /\bBONDED_[A-Z_]+[A-Z]\b/g

test('every command accepts what guides and examples set for backends and phones', () => {
  const texts = globSync(
    [
      'README.md',
      'docs/guides/**/*.md',
      'packages/*/README.md',
      'examples/*/README.md',
      'examples/*/*.{js,ts,py}',
      'examples/*/src/**/*.ts',
    ],
    { cwd: ROOT, exclude: ['**/node_modules/**'] },
  )
  const names = new Set(
    texts.flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(VARIABLE)].map(String),
    ),
  )
  const settings: readonly string[] = SETTINGS.map(({ name }) => name)
  const others = [...names].filter(
    (name) => !settings.includes(name.replace(/_FILE$/, '')) && name !== 'BONDED_CONFIG',
  )
  assert.ok(others.includes('BONDED_ORIGIN') && others.includes('BONDED_SERVER_CREDENTIAL'))
  using reader = machine({
    folder: m.folder,
    env: Object.fromEntries(others.map((name) => [name, 'x'])),
  })
  for (const words of [
    ['config', 'check'],
    ['tenant', 'list'],
  ]) {
    const { status, stderr } = reader.run(...words)
    assert.equal(status, 0, stderr)
  }
})
