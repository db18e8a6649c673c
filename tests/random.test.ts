import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { filesOf, filesThatSearch } from '../scripts/tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES = globSync('{tests,packages/*/tests,examples/*/tests,scripts,proofs}/**/*.ts', {
  cwd: ROOT,
  exclude: (path) => path.endsWith('node_modules'),
})
/** What draws numbers without the seed. */
const UNSEEDED = /\bfrom 'fast-check'|\bMath\.random\b|\brandomInt\b/
const ALLOWED: Readonly<Record<string, string>> = {
  'tests/random.ts': 'is the source',
  'packages/store/tests/servers/free-port.ts':
    'draws a port until one is free, which decides no result',
  'scripts/test.ts': 'draws the seed of --fresh',
  'proofs/durability/command.ts': 'draws the seed that an operator does not set',
}

test('every random history, fuzzer and search draws from the seed of tests/random.ts', () => {
  assert.ok(SOURCES.length > 500, 'the sources were found')
  const unseeded = SOURCES.filter((path) =>
    UNSEEDED.test(readFileSync(resolve(ROOT, path), 'utf8')),
  )
  assert.deepEqual(unseeded.toSorted(), Object.keys(ALLOWED).toSorted())
})

test('no test changes a character of a text to a fixed one, which it may have been', () => {
  const changed = /`\w\$\{\w+\.slice\(1\)\}`|\.slice\(0, -1\)\}\w`|'\w' \+ \w+\.slice\(1\)/
  const found = SOURCES.filter((path) => changed.test(readFileSync(resolve(ROOT, path), 'utf8')))
  assert.deepEqual(found, [])
})

test('a fresh run has the files that draw from the seed, also through a module of the tests', () => {
  const searching = filesThatSearch()
  for (const file of [
    'packages/contract/tests/canonical.test.ts',
    'packages/attestation/tests/passport/fuzz.test.ts',
    'tests/nodes/histories.test.ts',
    ...filesOf('soak'),
  ])
    assert.ok(searching.includes(file), file)
  assert.ok(!searching.includes('tests/first-bond.test.ts'))
})

test('a property has the same cases in every run, and others with another FUZZ_SEED', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-seed-'))
  const file = join(folder, 'cases.ts')
  const random = JSON.stringify(resolve(import.meta.dirname, 'random.ts'))
  writeFileSync(
    file,
    `import { fc, randomFor } from ${random}
    fc.assert(fc.property(fc.integer(), (one) => void console.log(one)))
    console.log(randomFor('cases')(1_000_000))`,
  )
  const casesOf = (FUZZ_SEED?: string) => {
    const { FUZZ_SEED: _of, ...env } = process.env
    const child = spawnSync(process.execPath, [file], {
      encoding: 'utf8',
      env: { ...env, ...(FUZZ_SEED && { FUZZ_SEED }) },
    })
    assert.equal(child.status, 0, child.stderr)
    return child.stdout
  }
  assert.equal(casesOf(), casesOf())
  assert.equal(casesOf('7'), casesOf('7'))
  assert.notEqual(casesOf(), casesOf('7'))
  rmSync(folder, { recursive: true })
})
