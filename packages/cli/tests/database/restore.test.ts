import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { writeBackup } from '../../../store/src/backup/backup-file.ts'
import { parseRootKeys } from '../../../core/src/domain/root-keys.ts'
import { CREATE_TENANT, machine, type ServingProcess } from '../../../../tests/harness/process.ts'

const source = machine()
const backup = join(source.folder, 'first.backup')
after(() => source[Symbol.dispose]())

const { server_credential: token } = source.json(...CREATE_TENANT) as {
  server_credential: string
}

async function create(service: ServingProcess): Promise<CreatedSession> {
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
  })
  assert.equal(created.status, 201)
  return (await created.json()) as CreatedSession
}

async function stateOf(service: ServingProcess, id: string): Promise<unknown> {
  const read = await fetch(`${service.origin}/api/v1/sessions/${id}`, {
    headers: { authorization: `Bearer ${token}`, connection: 'close' },
  })
  const { state, ended_reason } = (await read.json()) as { state: string; ended_reason: unknown }
  return [state, ended_reason]
}

/** Another data folder with the root keys of the first, as an operator sets it up. */
function elsewhere(): ReturnType<typeof machine> {
  const target = machine()
  copyFileSync(join(source.folder, 'root.key'), join(target.folder, 'root.key'))
  return target
}

/** A session that was live when the backup was made, while its service was running. */
const live = await (async () => {
  await using service = await source.serve()
  const session = await create(service)
  const written = await source.jsonMeanwhile('backup', backup)
  assert.deepEqual([written.store, written.root_keys_included], ['sqlite', false])
  await service.stop('SIGTERM')
  return session
})()

test('ends the live sessions of a backup, because what became of them since is unknown', async () => {
  using target = elsewhere()
  const restored = target.json('restore', backup)
  assert.deepEqual([restored.killed_sessions, restored.replaced], [1, null])
  await using service = await target.serve()
  assert.deepEqual(await stateOf(service, live.id), ['killed', 'killed_by_operator'])
  const next = await create(service)
  assert.deepEqual(await stateOf(service, next.id), ['pending', null])
})

test('keeps live sessions when the operator knows that the service had stopped', async () => {
  using target = elsewhere()
  assert.equal(target.json('restore', backup, '--keep-live-sessions').killed_sessions, 0)
  await using service = await target.serve()
  assert.deepEqual(await stateOf(service, live.id), ['pending', null])
})

test('does not restore while a service uses the database, also with --replace', async () => {
  using target = elsewhere()
  target.json('restore', backup)
  await using service = await target.serve()
  const rejected = target.run('restore', backup, '--replace', '--json')
  assert.equal(service.child.exitCode, null)
  assert.deepEqual(
    [rejected.status, JSON.parse(rejected.stderr).error.code],
    [1, 'database_in_use'],
  )
})

test('rejects an existing database, and with --replace leaves it beside the restored one', () => {
  using target = elsewhere()
  target.json(...CREATE_TENANT)
  const rejected = target.run('restore', backup, '--json')
  assert.deepEqual([rejected.status, JSON.parse(rejected.stderr).error.code], [1, 'conflict'])
  const { replaced } = target.json('restore', backup, '--replace') as { replaced: string }
  const tenantsIn = (file: string) => {
    using database = new DatabaseSync(file, { readOnly: true })
    return database.prepare('select id from tenant').all().length
  }
  assert.deepEqual([tenantsIn(replaced), tenantsIn(target.databaseFile)], [1, 1])
  const left = readdirSync(target.folder).filter((name) => /restoring|part/.test(name))
  assert.deepEqual(left, [])
})

test('deletes what an interrupted restore has left, which is a whole copy of the database', () => {
  using target = elsewhere()
  for (const suffix of ['', '-wal', '-shm'])
    writeFileSync(`${target.databaseFile}.restoring${suffix}`, 'half a copy')
  target.json('restore', backup)
  const left = readdirSync(target.folder).filter((name) => name.includes('restoring'))
  assert.deepEqual(left, [])
})

test('replaces a database that is damaged', () => {
  using target = elsewhere()
  writeFileSync(target.databaseFile, 'no database at all')
  writeFileSync(`${target.databaseFile}-wal`, 'nor a log')
  const { replaced } = target.json('restore', backup, '--replace') as { replaced: string }
  assert.ok(existsSync(replaced))
  assert.ok(!existsSync(`${target.databaseFile}-wal`))
  assert.equal(target.run('doctor', '--port', '0').status, 0)
})

test('restores through a symbolic link, also one whose target does not exist yet', () => {
  using target = elsewhere()
  const volume = join(target.folder, 'volume')
  mkdirSync(volume)
  const real = join(volume, 'real.db')
  symlinkSync(join('volume', 'real.db'), target.databaseFile)
  target.json('restore', backup)
  const { replaced } = target.json('restore', backup, '--replace') as { replaced: string }
  assert.equal(readlinkSync(target.databaseFile), join('volume', 'real.db'))
  assert.ok(lstatSync(real).isFile())
  assert.ok(replaced.startsWith(`${real}.replaced-`))
  assert.deepEqual(
    readdirSync(volume).filter((name) => name.includes('restoring')),
    [],
  )
  assert.equal(target.run('doctor', '--port', '0').status, 0)
})

test('runs again after an interruption, and no service starts without its database meanwhile', () => {
  using target = elsewhere()
  const interrupt = (at: string, ...options: string[]) => {
    const killer = join(import.meta.dirname, '../../../../tests/harness/kill-at.ts')
    const env = { NODE_OPTIONS: `--import ${killer}`, KILL_AT: at }
    using killed = machine({ folder: target.folder, env })
    assert.equal(killed.runAlone('restore', backup, ...options).signal, at.split(' ')[1])
  }
  interrupt('renameSync SIGKILL')
  const rejected = target.run('serve', '--port', '0')
  assert.equal(rejected.status, 1)
  assert.match(rejected.stderr, /restore did not finish\. Run bonded restore again/)
  interrupt('renameSync SIGTERM')
  target.json('restore', backup)

  // The existing database has its name until the restored one takes it.
  interrupt('renameSync SIGKILL', '--replace')
  const [tenant] = target.json('tenant', 'list') as { name: string }[]
  assert.equal(tenant?.name, 'A')
  const { replaced } = target.json('restore', backup, '--replace') as { replaced: string }
  assert.ok(existsSync(replaced))
})

test('rejects a log without its database, which a new database would adopt', () => {
  using target = elsewhere()
  writeFileSync(`${target.databaseFile}-wal`, '')
  assert.equal(target.run('restore', backup).status, 1)
})

test('changes nothing when the backup is damaged, sealed under another key, or none', () => {
  using target = elsewhere()
  const cut = join(target.folder, 'cut.backup')
  writeFileSync(cut, 'half of a backup')
  for (const file of [cut, join(target.folder, 'missing.backup')]) {
    const rejected = target.run('restore', file)
    assert.equal(rejected.status, 1)
    assert.doesNotMatch(rejected.stderr, /\n\s+at |create/, 'no stack, and nothing to create')
  }
  writeFileSync(join(target.folder, 'root.key'), 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE')
  assert.match(target.run('restore', backup).stderr, /does not match root key "k1"/)
  assert.ok(!existsSync(target.databaseFile))
})

test('rejects a backup of a newer version before it connects to the database', async () => {
  using target = elsewhere()
  const newer = join(target.folder, 'newer.backup')
  const rootKeys = parseRootKeys(readFileSync(join(source.folder, 'root.key'), 'utf8').trim())
  await writeBackup(newer, { store: 'postgresql', now: 0, version: '9.9.9', rootKeys }, () => 9_999)
  const url = 'postgres://bonded@127.0.0.1:1/bonded'
  const rejected = target.run('restore', newer, '--database-url', url, '--json')
  const { error } = JSON.parse(rejected.stderr) as { error: { code: string; message: string } }
  assert.deepEqual([rejected.status, error.code], [1, 'backup_invalid'])
  assert.match(error.message, /bonded 9\.9\.9, which is newer than this version/)
})

test('never generates a root key for a backup or a restore', () => {
  using target = machine()
  for (const command of ['backup', 'restore']) {
    const rejected = target.run(command, join(target.folder, 'any.backup'), '--json')
    assert.equal(JSON.parse(rejected.stderr).error.code, 'not_found')
  }
  assert.deepEqual(readdirSync(target.folder), [])
})

test('explains a backup of a database that does not exist, or into a folder that does not', () => {
  using target = elsewhere()
  const none = target.run('backup', join(target.folder, 'x.backup'))
  assert.match(none.stderr, /bonded\.db cannot be opened/)
  target.json(...CREATE_TENANT)
  const missing = target.run('backup', join(target.folder, 'missing/x.backup'))
  assert.equal(missing.status, 1)
  const folder = join(target.folder, 'missing')
  assert.equal(missing.stderr.trim(), `error: The folder ${folder} does not exist. Check the path.`)
  mkdirSync(join(target.folder, 'missing'))
  assert.equal(target.run('backup', join(target.folder, 'missing/x.backup')).status, 0)
})
