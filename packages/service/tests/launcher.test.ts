import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const PACKAGE = resolve(import.meta.dirname, '..')
/** Makes the launcher believe that an earlier Node runs it. */
const AS_NODE_20 = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process.versions, 'node', { value: '20.0.0' })`,
)}`

test('the launcher names the optional package that an older Node needs and npm left out', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-launcher-'))
  try {
    for (const part of ['bin', 'src', 'package.json'])
      cpSync(join(PACKAGE, part), join(folder, 'packages/service', part), { recursive: true })
    // What npm ci --omit=optional leaves: packages, and no Node.
    mkdirSync(join(folder, 'node_modules'))
    const launcher = join(folder, 'packages/service/bin/bonded.js')
    const ran = spawnSync(process.execPath, ['--import', AS_NODE_20, launcher, 'dev'], {
      encoding: 'utf8',
    })
    assert.equal(ran.status, 2)
    assert.match(ran.stderr, /^bonded needs Node 24\.0 or newer\./)
    assert.match(ran.stderr, /package node-(?:bin-)?\w+-\w+, which is missing.*--omit=optional\.$/m)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
