import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Makes the launcher believe that an earlier Node runs it. */
const AS_NODE_20 = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process.versions, 'node', { value: '20.0.0' })`,
)}`

/** Runs a launcher of the repository where npm has installed nothing, or everything but a Node. */
function launch(
  words: readonly string[],
  { isInstalled, flags }: { isInstalled: boolean; flags: readonly string[] },
) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-launcher-'))
  try {
    for (const part of ['packages/service/bin', 'packages/service/src', 'scripts/run.js'])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    if (isInstalled) {
      mkdirSync(join(folder, 'node_modules'))
      writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}')
    }
    return spawnSync(process.execPath, [...flags, ...words], { cwd: folder, encoding: 'utf8' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const OLD_NODE = ['--import', AS_NODE_20]

for (const words of [
  ['packages/service/bin/bonded.js', 'dev'],
  ['scripts/run.js', 'scripts/docs.ts'],
]) {
  const [program = ''] = words
  test(`${program} names the optional package that an older Node needs and npm left out`, () => {
    const { status, stderr } = launch(words, { isInstalled: true, flags: OLD_NODE })
    assert.equal(status, 2)
    assert.match(
      stderr,
      /^error: the repository needs Node 24\.0 or newer\. This is v\d+\.\d+\.\d+\..* optional package node-(?:bin-)?\w+-\w+, which is missing\./,
    )
  })

  for (const flags of [OLD_NODE, []])
    test(`${program} says that npm ci has not finished on ${flags.length > 0 ? 'an older' : 'this'} Node, and advises no option`, () => {
      const { status, stderr } = launch(words, { isInstalled: false, flags })
      assert.equal(status, 2)
      assert.match(stderr, /^error: npm ci has not finished here, .* Run npm ci\./)
      assert.doesNotMatch(stderr, /--/)
    })
}
