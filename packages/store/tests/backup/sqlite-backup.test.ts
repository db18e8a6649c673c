import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { StoreError } from '@bonded/core/ports/store'
import { PostgresPrograms } from '../../src/backup/postgres-programs.ts'
import { rejectUnfinishedCopy, restoringCopyOf } from '../../src/backup/restoring-copy.ts'
import {
  databaseExists,
  dumpSqlite,
  installCopy,
  verifyCopy,
} from '../../src/backup/sqlite-backup.ts'
import { migrate } from '../../src/migrations/migrate.ts'
import { parseDatabaseUrl } from '../../src/postgres/server/database-url.ts'
import { settingsInFile } from '../../src/sqlite/known-settings.ts'
import { vacuumSqlite } from '../../src/sqlite/vacuum-sqlite.ts'

const root = mkdtempSync(join(tmpdir(), 'bonded-sqlite-backup-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** A folder with a database of this version, which has one setting. */
function scene() {
  const folder = mkdtempSync(join(root, 'x-'))
  const file = join(folder, 'bonded.db')
  migrate(file, 0)
  using database = new DatabaseSync(file)
  database.exec(`insert into known_setting (name, version) values ('BONDED_A', '0.1.0')`)
  return { folder, file, copy: join(folder, 'copy.db') }
}

/** Expects an outage of this kind about this file. */
const outage = (kind: string, where: string, message: RegExp | string) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error))
  assert.deepEqual([error.kind, error.where], [kind, where])
  if (typeof message === 'string') assert.equal(error.message, message)
  else assert.match(error.message, message)
  return true
}

test('a copy of a database has its rows and its latest migration', () => {
  const { file, copy } = scene()
  assert.equal(dumpSqlite(file, copy), 1)
  assert.deepEqual(settingsInFile(copy), new Map([['BONDED_A', '0.1.0']]))
  assert.equal(verifyCopy(copy), 1)
})

test('a copy of a missing, damaged, or foreign database is rejected for that', () => {
  const { folder, file, copy } = scene()
  const missing = join(folder, 'missing.db')
  const noFile = 'the store refused to open: there is no file'
  assert.throws(() => dumpSqlite(missing, copy), outage('cannot_open', missing, noFile))
  assert.throws(() => vacuumSqlite(missing), outage('cannot_open', missing, noFile))
  assert.equal(existsSync(missing), false)

  const text = join(folder, 'text.db')
  writeFileSync(text, 'not a database at all, but a text '.repeat(200))
  const noDatabase = (to: string) => `the store refused to ${to}: the file is not a database`
  assert.throws(() => dumpSqlite(text, copy), outage('not_a_database', text, noDatabase('read')))
  assert.throws(() => verifyCopy(text), outage('not_a_database', text, noDatabase('open')))
  assert.throws(() => vacuumSqlite(text), outage('not_a_database', text, noDatabase('write')))
  assert.throws(() => settingsInFile(text), outage('not_a_database', text, noDatabase('open')))

  const foreign = join(folder, 'foreign.db')
  new DatabaseSync(foreign).exec('create table other (id integer)')
  assert.throws(
    () => verifyCopy(foreign),
    outage('not_a_database', foreign, 'the copy has no schema of bonded'),
  )
  // The same text is in the table and in its index, which then differ.
  const bytes = readFileSync(file)
  bytes.write('X', bytes.lastIndexOf('BONDED_A'))
  writeFileSync(file, bytes)
  assert.throws(() => verifyCopy(file), outage('damaged', file, /^the copy is damaged: ./))
})

test('a database that is replaced keeps its content under a name with the time', () => {
  const { folder, file, copy } = scene()
  const now = Date.UTC(2026, 10, 21, 9, 30, 5, 123)
  dumpSqlite(file, copy)
  {
    // What is in the log only belongs to the database that is replaced.
    using database = new DatabaseSync(file)
    database.exec(`update known_setting set version = '0.2.0'`)
  }
  const replaced = installCopy(copy, file, now)
  assert.equal(replaced, `${file}.replaced-20261121T093005Z`)
  assert.deepEqual(settingsInFile(file), new Map([['BONDED_A', '0.1.0']]))
  assert.deepEqual(settingsInFile(replaced ?? ''), new Map([['BONDED_A', '0.2.0']]))
  assert.equal(existsSync(copy), false)
  assert.ok(!readdirSync(folder).some((name) => /^bonded\.db-(?:wal|shm)$/.test(name)))
})

test('a copy is installed where no database is, and a log alone is moved away', () => {
  const { folder, file, copy } = scene()
  const target = join(folder, 'new.db')
  dumpSqlite(file, copy)
  assert.equal(databaseExists(target), false)
  assert.equal(installCopy(copy, target, 0), undefined)
  assert.deepEqual(settingsInFile(target), new Map([['BONDED_A', '0.1.0']]))
  assert.equal(databaseExists(target), true)

  for (const suffix of ['-wal', '-shm']) {
    const lonely = join(folder, `lonely${suffix}.db`)
    dumpSqlite(file, copy)
    writeFileSync(lonely + suffix, 'a log')
    assert.equal(databaseExists(lonely), true)
    // A service would adopt the log of another database.
    const replaced = installCopy(copy, lonely, 0)
    assert.equal(existsSync(lonely + suffix), false, suffix)
    assert.equal(replaced, `${lonely}.replaced-19700101T000000Z`)
    assert.deepEqual(settingsInFile(lonely), new Map([['BONDED_A', '0.1.0']]))
  }
})

test('a database without a table of settings, and a missing one, have no settings', () => {
  const { folder } = scene()
  const file = join(folder, 'empty.db')
  assert.deepEqual(settingsInFile(file), new Map())
  new DatabaseSync(file).exec('create table other (id integer)')
  assert.deepEqual(settingsInFile(file), new Map())
})

test('a vacuum waits for no reader of the log forever, and leaves no deleted row', () => {
  const { file } = scene()
  const secret = 'a value that was deleted'
  {
    using database = new DatabaseSync(file)
    database.exec(`insert into known_setting (name, version) values ('${secret}', '1')`)
    database.exec(`delete from known_setting where name = '${secret}'`)
  }
  vacuumSqlite(file)
  assert.equal(readFileSync(file).includes(secret), false)
  const log = `${file}-wal`
  assert.ok(!existsSync(log) || readFileSync(log).length === 0)
  assert.deepEqual(settingsInFile(file), new Map([['BONDED_A', '0.1.0']]))
})

test('a database whose restore did not finish is rejected, unless another one is there', () => {
  const { folder, file } = scene()
  const missing = join(folder, 'missing.db')
  assert.equal(restoringCopyOf(missing), `${missing}.restoring`)
  rejectUnfinishedCopy(missing)
  for (const each of [missing, file]) writeFileSync(restoringCopyOf(each), '')
  rejectUnfinishedCopy(file)
  assert.throws(
    () => rejectUnfinishedCopy(missing),
    outage(
      'unsuitable',
      missing,
      `${missing} does not exist, because a restore did not finish. Run bonded restore again. To start with an empty database instead, delete ${missing}.restoring.`,
    ),
  )
})

test('a signal runs what a command would leave, the latest first, and ends the process by it', async () => {
  const module = join(import.meta.dirname, '../../src/backup/cleanup.ts')
  const program = `import { Cleanup } from ${JSON.stringify(module)}
    const [one, two] = [new Cleanup(), new Cleanup()]
    for (const [cleanup, name] of [[one, 'a'], [one, 'b'], [two, 'c'], [two, 'd']])
      cleanup.add(() => process.stdout.write(name))
    setInterval(() => {}, 1_000)
    process.stdout.write('ready ')`
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const args = ['--input-type=module', '--eval', program]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (text: unknown) => {
      if (said === '') child.kill(signal)
      said += String(text)
    })
    const ended = await new Promise((resolve) => child.once('close', (_, by) => resolve(by)))
    assert.deepEqual([said, ended], ['ready dcba', signal])
  }
})

/** A folder with a program that prints, fails, or writes what it was given. */
function programs(script: string): string {
  const bin = join(mkdtempSync(join(root, 'bin-')), 'programs')
  mkdirSync(bin)
  for (const name of ['pg_dump', 'pg_restore']) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return bin
}

const address = (url: string) => parseDatabaseUrl(url, {}) ?? assert.fail('no address')

test('a program of PostgreSQL that is missing or older than the server is named with the fix', () => {
  const check = (bin: string, server: number) => () =>
    new PostgresPrograms(address('postgres://u@localhost/d'), bin).check('pg_dump', server)
  const bin = programs(`echo 'pg_dump (PostgreSQL) 16.4'`)
  for (const server of [15, 16]) check(bin, server)()
  const fix =
    'Install the client programs of PostgreSQL 17 (apt-get install postgresql-client-17), or name their folder with --postgres-bin.'
  assert.throws(check(bin, 17), {
    message: `${join(bin, 'pg_dump')} is of PostgreSQL 16, which is older than the server (17). ${fix}`,
  })
  for (const other of [join(root, 'nowhere'), programs('echo something')])
    assert.throws(check(other, 17), {
      message: `The program ${join(other, 'pg_dump')} cannot be run. ${fix}`,
    })
})

test('a program of PostgreSQL gets the server and its password in its environment only', async () => {
  const out = join(root, 'environment')
  const bin = programs(
    `env > '${out}'; echo "$@" >> '${out}'; cat "$PGSSLROOTCERT" >> '${out}' 2>&1`,
  )
  const run = async (url: string, program: 'pg_dump' | 'pg_restore') => {
    await new PostgresPrograms(address(url), bin).run(program, ['--one', 'two'])
    return readFileSync(out, 'utf8')
  }
  const local = await run('postgres://us:se%2Fcret@localhost:6001/da', 'pg_dump').catch(
    // Without an authority there is nothing to print, and `cat` fails.
    () => readFileSync(out, 'utf8'),
  )
  const lines = local.split('\n')
  for (const line of [
    'PGHOST=localhost',
    'PGPORT=6001',
    'PGDATABASE=da',
    'PGUSER=us',
    'PGPASSWORD=se/cret',
    'PGSSLMODE=disable',
    'PGTARGETSESSIONATTRS=read-write',
    'PGCONNECT_TIMEOUT=10',
    'PGAPPNAME=bonded backup',
    'LC_MESSAGES=C',
    '--one two',
  ])
    assert.ok(lines.includes(line), line)
  assert.ok(!lines.some((line) => line.startsWith('HOME=')))
  const remote = (await run('postgres://us@db.example/da', 'pg_restore')).split('\n')
  for (const line of ['PGSSLMODE=verify-full', 'PGPORT=5432', 'PGAPPNAME=bonded restore'])
    assert.ok(remote.includes(line), line)
  assert.ok(remote.includes('-----BEGIN CERTIFICATE-----'))
  assert.ok(!remote.some((line) => line.startsWith('PGPASSWORD=')))
})

test('a program of PostgreSQL that fails is quoted', async () => {
  const bin = programs('echo "no such table" >&2; exit 3')
  const failing = new PostgresPrograms(address('postgres://us@localhost/da'), bin)
  await assert.rejects(failing.run('pg_dump', []), {
    message:
      'pg_dump failed: no such table. Use the programs of the version of the server, and check the rights of the user us.',
  })
  const silent = new PostgresPrograms(address('postgres://us@localhost/da'), programs('exit 3'))
  await assert.rejects(silent.run('pg_restore', []), { message: /^pg_restore failed: 3\. / })
})
