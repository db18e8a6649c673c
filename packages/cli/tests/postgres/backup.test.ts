import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  globSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { machine, type ServingProcess, until } from '../../../../tests/harness/process.ts'
import {
  checkpointOf,
  originOf,
  receiptRows,
  verifyLog,
} from '../../../../tests/harness/stored-log.ts'
import {
  newDatabase,
  openConnection,
  startPostgres,
} from '../../../store/tests/servers/postgres.ts'

/** The newest server of Debian that has its client programs beside it. */
const bin = globSync('/usr/lib/postgresql/*/bin/postgres')
  .map((path) => dirname(path))
  .filter((folder) => existsSync(join(folder, 'pg_dump')))
  .toSorted()
  .at(-1)
const skip = bin === undefined && 'no PostgreSQL of Debian: apt-get install postgresql'
if (skip !== false) console.warn(`LOUD: ${skip}: backups of PostgreSQL are not tested.`)
const WITH_BIN = ['--postgres-bin', bin ?? '']

if (bin !== undefined) process.env.TEST_POSTGRES_BIN = bin
const server = bin === undefined ? undefined : await startPostgres()
delete process.env.TEST_POSTGRES_BIN
const folder = mkdtempSync(join(tmpdir(), 'bonded-backup-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const ROOT_KEYS = `k1:${randomBytes(32).toString('base64url')}`
/** Commands and services on a database. */
const on = (url: string, env: Record<string, string> = {}) =>
  machine({
    env: {
      BONDED_ROOT_KEYS: ROOT_KEYS,
      BONDED_DATABASE_URL: url,
      BONDED_RATE_LIMITS: 'off',
      ...env,
    },
  })
const newUrl = async () => (await server?.newDatabase()) ?? ''

const TENANT = ['tenant', 'create', '--name', 'A', '--environment', 'sandbox']
const WHERE = ['--origin', 'https://a.example', '--workflow', 'w:a']

async function createOn(service: ServingProcess, token: string): Promise<string | undefined> {
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  if (created.status !== 201) return undefined
  return ((await created.json()) as { id: string }).id
}

/** The events of a session are complete: every number from 1 to that of the session. */
const INCOMPLETE = `select count(*) as n from session where seq <>
  (select count(*) from session_event e where e.session_key = session.session_key and e.seq is not null)`

test('a backup under load restores everything acknowledged before it, and ends live sessions', {
  skip,
}, async () => {
  using source = on(await newUrl())
  const { server_credential: token } = source.json(...TENANT, ...WHERE)
  const file = join(folder, 'load.backup')
  const before: string[] = []
  await using service = await source.serve()
  for (let index = 0; index < 20; index++) before.push((await createOn(service, token)) ?? '')
  const load = new AbortController()
  const callers = Array.from({ length: 4 }, async () => {
    while (!load.signal.aborted) await createOn(service, token)
  })
  const manifest = await source.jsonMeanwhile('backup', file, ...WITH_BIN)
  load.abort()
  await Promise.all(callers)
  assert.deepEqual([manifest.store, manifest.root_keys_included], ['postgresql', false])
  assert.doesNotMatch(readFileSync(file).toString('latin1'), /bwt_|sk_beta_/)

  const url = await newUrl()
  using target = on(url)
  const restored = await target.jsonMeanwhile('restore', file, ...WITH_BIN)
  assert.ok(restored.killed_sessions >= before.length)
  const rows = await server?.run('select id, state from session', url)
  const states = new Map(rows?.map(({ id, state }) => [id, state]))
  assert.deepEqual(
    before.map((id) => states.get(id)),
    before.map(() => 'killed'),
  )
  assert.deepEqual([...new Set(states.values())], ['killed'])
  assert.deepEqual(await server?.run(INCOMPLETE, url), [{ n: '0' }])
  await using again = await target.serve()
  assert.ok(await createOn(again, token))
})

test('a restore begins another log of receipts, which continues the entries of the backup', {
  skip,
}, async () => {
  const keys = join(folder, 'receipts.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(keys, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const env = { BONDED_RECEIPT_KEYS: keys, BONDED_PUBLIC_ORIGIN: 'http://localhost:1' }
  const [from, to] = [await newUrl(), await newUrl()]
  const file = join(folder, 'log.backup')
  using source = on(from, env)
  const [two, three] = await (async () => {
    await using service = await source.serve()
    await server?.run(receiptRows(2), from)
    const first = await checkpointOf(service, 2)
    await source.jsonMeanwhile('backup', file, ...WITH_BIN)
    await server?.run(receiptRows(1), from)
    return [first, await checkpointOf(service, 3)]
  })()
  using target = on(to, env)
  const { receipt_log: begun } = await target.jsonMeanwhile('restore', file, ...WITH_BIN)
  await using service = await target.serve()
  await server?.run(receiptRows(2), to)
  // The restore is audited: an entry, and the marker behind it.
  const six = await checkpointOf(service, 6)
  assert.equal(originOf(six), begun.origin)
  const verify = (older: string) => verifyLog(target, service, { older, newer: six })
  assert.match(await verify(two), /The log only grew/)
  assert.match(await verify(three), /closed the log .* with 2 entries \(restore\)/)
})

test('a restore replaces nothing, and changes nothing for another store or another key', {
  skip,
}, async () => {
  const url = await newUrl()
  using machineOfIt = on(url)
  machineOfIt.json(...TENANT, ...WHERE)
  const file = join(folder, 'own.backup')
  machineOfIt.json('backup', file, ...WITH_BIN)
  const rejections = [
    [machineOfIt, ['restore', file, ...WITH_BIN], /is not empty.*create database/],
    [machineOfIt, ['restore', file, '--replace', ...WITH_BIN], /replaces a SQLite file/],
  ] as const
  for (const [where, command, message] of rejections)
    assert.match(where.run(...command).stderr, message)
  using sqlite = machine({ env: { BONDED_ROOT_KEYS: ROOT_KEYS } })
  assert.match(sqlite.run('restore', file).stderr, /backup of a PostgreSQL database/)
  const empty = await newUrl()
  using target = on(empty)
  using stranger = on(empty, { BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}` })
  assert.match(stranger.run('restore', file, ...WITH_BIN).stderr, /does not match root key "k1"/)
  assert.deepEqual(await server?.run(`select to_regclass('session') as found`, empty), [
    { found: null },
  ])
  assert.equal(target.json('restore', file, ...WITH_BIN).killed_sessions, 0)
  assert.deepEqual(await server?.run('select name from tenant', empty), [{ name: 'A' }])
})

test('a restore that is killed is rejected at start and runs again, and two never run at once', {
  skip,
}, async () => {
  using source = on(await newUrl())
  const { server_credential: token } = source.json(...TENANT, ...WHERE)
  const file = join(folder, 'killed.backup')
  {
    await using service = await source.serve()
    await createOn(service, token)
    await source.jsonMeanwhile('backup', file, ...WITH_BIN)
  }
  // The sessions of the backup are live when the command dies: its program has restored them.
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  const program = `#!/bin/sh
    case $1 in --version) exec ${bin}/pg_restore --version;; esac
    ${bin}/pg_restore "$@" && kill -9 $PPID`
  writeFileSync(join(programs, 'pg_restore'), program, { mode: 0o755 })
  const url = await newUrl()
  using target = on(url)
  const states = () => server?.run('select distinct state from session', url)
  assert.equal(target.runAlone('restore', file, '--postgres-bin', programs).signal, 'SIGKILL')
  assert.deepEqual(await states(), [{ state: 'pending' }])
  for (const command of [
    ['serve', '--port', '0'],
    ['backup', join(folder, 'half.backup'), ...WITH_BIN],
  ]) {
    const rejected = target.run(...command)
    assert.equal(rejected.status, 1, command.join(' '))
    assert.match(
      rejected.stderr + rejected.stdout,
      /restore into it did not finish.*run bonded restore again/is,
    )
  }
  assert.equal(target.json('restore', file, ...WITH_BIN).killed_sessions, 1)
  assert.deepEqual(await states(), [{ state: 'killed' }])
  await using again = await target.serve()
  assert.ok(await createOn(again, token))

  // A second command into one database is rejected, and changes nothing.
  const busyUrl = await newUrl()
  using busy = on(busyUrl)
  await using holder = await openConnection(busyUrl)
  await holder.run('select pg_advisory_lock(32199655024357989)')
  const rejected = busy.run('restore', file, ...WITH_BIN)
  assert.match(rejected.stderr, /another command restores into/i)
  assert.deepEqual(
    await server?.run(`select to_regclass('unfinished_restore') as found`, busyUrl),
    [{ found: null }],
  )
})

test('a backup and a restore that SIGTERM ends leave no copy of the database, and no program', {
  skip,
}, async () => {
  const work = join(folder, 'signaled')
  const programs = join(work, 'programs')
  const temporary = join(work, 'temporary')
  for (const each of [programs, temporary]) mkdirSync(each, { recursive: true })
  const ended = join(programs, 'ended')
  const program = (name: string, work: string) =>
    writeFileSync(
      join(programs, name),
      `#!/bin/sh
      case $1 in --version) exec ${bin}/${name} --version;; esac
      ${work}`,
      { mode: 0o755 },
    )
  const signal = `trap 'touch ${ended}; kill $!; exit' TERM; sleep 60 & kill -TERM $PPID; wait`
  const url = await newUrl()
  using source = on(url)
  source.json(...TENANT, ...WHERE)
  const file = join(work, 'signaled.backup')
  const run = async (m: typeof source, command: string) => {
    const ran = m.runAlone(command, file, '--postgres-bin', programs)
    assert.equal(ran.signal, 'SIGTERM', ran.stderr)
    assert.deepEqual(readdirSync(temporary), [])
    // The program receives the signal, but may end after its parent.
    await until(() => Promise.resolve(existsSync(ended) || undefined), 60_000)
    rmSync(ended)
  }
  program('pg_dump', signal)
  program('pg_restore', signal)
  using interrupted = on(url, { TMPDIR: temporary })
  await run(interrupted, 'backup')
  assert.deepEqual(readdirSync(work).toSorted(), ['programs', 'temporary'])

  source.json('backup', file, ...WITH_BIN)
  using target = on(await newUrl(), { TMPDIR: temporary })
  await run(target, 'restore')
})

test('a missing pg_dump, and one older than the server, are rejected with the fix', {
  skip,
}, async () => {
  using none = on(await newUrl())
  none.json(...TENANT, ...WHERE)
  const file = join(folder, 'none.backup')
  const missing = none.run('backup', file, '--postgres-bin', folder)
  assert.match(missing.stderr, /pg_dump cannot be run.*apt-get install postgresql-client/)
  assert.ok(!existsSync(file))
  // The server from npm is newer than Debian's programs.
  const url = await newDatabase()
  using newer = on(url)
  newer.json(...TENANT, ...WHERE)
  const older = newer.run('backup', file, ...WITH_BIN)
  assert.match(older.stderr, /older than the server \(\d+\).*--postgres-bin/)
  assert.ok(!existsSync(file))
})
