import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type Driver from 'better-sqlite3'
import { pendingStoreSuite } from '../../src/pending/pending-store-suite.ts'
import { sqlitePendingStore } from '../../src/pending/sqlite.ts'
import { NO_REGISTRY } from '../../../../tests/harness/no-registry.ts'

/**
 * The driver comes from a lockfile of its own. As a dependency of the repository, an npm before
 * 11.19 would run its build, which needs Python and make.
 */
const folder = mkdtempSync(join(tmpdir(), 'bonded-better-sqlite3-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const skip = install()
if (typeof skip === 'string') console.warn(`LOUD: ${skip}`)

/** @returns why the driver cannot be installed; false where it is */
function install(): string | false {
  for (const name of ['package.json', 'package-lock.json'])
    cpSync(join(import.meta.dirname, name), join(folder, name))
  const { NODE_OPTIONS: _conditions, ...env } = process.env
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  const npm = spawnSync('npm', ['ci', ...options], { cwd: folder, encoding: 'utf8', env })
  if (npm.status === 0) return false
  if (NO_REGISTRY.test(npm.stderr)) return 'npm reaches no registry for better-sqlite3'
  throw new Error(`npm ci of better-sqlite3 failed:\n${npm.stderr}`)
}

/** A new database. Its own types show that the store accepts the driver. */
function open(): Driver.Database {
  const installed = join(folder, 'node_modules/better-sqlite3')
  return new (createRequire(import.meta.url)(installed) as typeof Driver)(':memory:')
}

for (const { name, run } of pendingStoreSuite(() => sqlitePendingStore(open())))
  test(`better-sqlite3: ${name}`, { skip }, run)

test('better-sqlite3: the action and the use of the bond are one transaction', {
  skip,
}, async () => {
  const db = open()
  const store = sqlitePendingStore(db)
  db.exec('create table form (id text)')
  const failing = store.transaction(async (tx) => {
    tx.onCommit((open) => open.prepare("insert into form values ('A-1')").run())
    tx.onCommit(() => {
      throw new Error('the action failed')
    })
  })
  await assert.rejects(failing, /the action failed/)
  assert.deepEqual(db.prepare('select count(*) as n from form').get(), { n: 0 })
})
