import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'

test('a setting of a newer version is a warning with that version, and another one an error', async () => {
  using m = machine()
  const having = (env: Readonly<Record<string, string>>) => machine({ folder: m.folder, env })
  const newer = { BONDED_FUTURE: 'on' }
  m.json(...CREATE_TENANT)
  const rejected = having(newer).run('tenant', 'list')
  assert.deepEqual([rejected.status, /BONDED_FUTURE: is set/.test(rejected.stderr)], [2, true])

  const file = join(m.folder, 'settings.yaml')
  writeFileSync(file, 'future: on\n')
  {
    // What two other versions have left in the database.
    using database = new DatabaseSync(m.databaseFile, { timeout: 10_000 })
    const insert = database.prepare('insert into known_setting (name, version) values (?, ?)')
    insert.run('BONDED_FUTURE', '12.0.0')
    insert.run('BONDED_REMOVED', '0.0.9')
  }
  const warned = having(newer).run('tenant', 'list')
  assert.equal(warned.status, 0, warned.stderr)
  assert.match(warned.stderr, /^warning: BONDED_FUTURE is a setting of version 12\.0\.0\. .*\n$/)
  {
    await using serving = await having({ BONDED_CONFIG: file }).serve()
    assert.match(serving.output(), /"setting":"BONDED_FUTURE","version":"12\.0\.0"/)
  }
  // A node stores its own settings for earlier versions.
  using database = new DatabaseSync(m.databaseFile, { readOnly: true })
  const stored = database.prepare('select name from known_setting').all()
  for (const own of ['BONDED_PUBLIC_ORIGIN', 'BONDED_ROOT_KEYS_FILE'])
    assert.ok(stored.some(({ name }) => name === own))

  // Ignoring what this version has removed could weaken it.
  const wrong = { ...newer, BONDED_FUTRUE: 'on', BONDED_REMOVED: 'on' }
  const { status, stderr } = having(wrong).run('tenant', 'list')
  assert.deepEqual(
    [status, [...stderr.matchAll(/(\w+): is set/g)].map(([, name]) => name)],
    [2, ['BONDED_FUTRUE', 'BONDED_REMOVED']],
  )
})
