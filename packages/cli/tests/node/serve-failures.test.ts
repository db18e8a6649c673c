import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'

/** An unprivileged account, for test runs as root. */
const NOBODY = 65_534

/** A rejection as a stranger reads it: what, where, what to do, on one line and without a stack. */
function assertRejected(
  { status, stderr }: { status: number | null; stderr: string },
  ...expected: RegExp[]
): void {
  assert.equal(status, stderr.includes('is locked: another program') ? 4 : 1, stderr)
  assert.equal(stderr.trim().split('\n').length, 1, stderr)
  assert.doesNotMatch(stderr, / at .*:\d+:\d+/)
  for (const pattern of expected) assert.match(stderr, pattern)
}

test('does not serve a file in which a feature is in use that this version does not know', () => {
  using m = machine()
  assert.equal(m.run('migrate', 'up').status, 0)
  const database = new DatabaseSync(m.databaseFile)
  database.exec('update used_level set level = 1000')
  database.close()
  assertRejected(
    m.run('serve'),
    /^error: This version would ignore a feature that is in use, .* Start the version/,
  )
})

test('rejects a file that is not a database, and does not change it', () => {
  using m = machine()
  writeFileSync(
    m.databaseFile,
    'Dear diary, this is no database but it is long enough to be looked at.\n'.repeat(40),
  )
  const before = readFileSync(m.databaseFile)
  for (const command of [['serve'], ['tenant', 'list'], ['migrate', 'up'], ['migrate', 'status']]) {
    assertRejected(
      m.run(...command),
      /bonded\.db is not a SQLite database\. The file was not changed\. Set BONDED_DATABASE_URL to another file/,
    )
    assert.deepEqual(readFileSync(m.databaseFile), before, command.join(' '))
  }
})

test('does not serve a damaged database, and does not change it', () => {
  using m = machine()
  for (let count = 0; count < 3; count++) m.json(...CREATE_TENANT, '--allow-similar-name')
  const { size } = statSync(m.databaseFile)
  const file = openSync(m.databaseFile, 'r+')
  for (let index = 8_192; index < size; index += 4_096)
    writeSync(file, Buffer.alloc(512, 0xa5), 0, 512, index)
  closeSync(file)
  const before = readFileSync(m.databaseFile)
  assertRejected(
    m.run('serve'),
    /bonded\.db is damaged \(.+\)\. The file was not changed\. Restore a backup, or .* \.recover/,
  )
  assert.deepEqual(readFileSync(m.databaseFile), before)
})

test('rejects the database of a newer version in every command, and does not change it', () => {
  using m = machine()
  m.json('migrate', 'up')
  {
    using database = new DatabaseSync(m.databaseFile)
    database.exec(`insert into migration values (99, 'from the future', 'x', 0)`)
  }
  const before = readFileSync(m.databaseFile)
  for (const command of [['serve'], ['tenant', 'list'], ['migrate', 'up'], ['migrate', 'status']]) {
    assertRejected(
      m.run(...command),
      /from the future.*a newer version created it\. Nothing was changed\. Run the version/,
    )
  }
  assert.deepEqual(readFileSync(m.databaseFile), before)
})

test('reports the state of the schema without creating a file', () => {
  using m = machine()
  assert.ok(
    m
      .json('migrate', 'status')
      .every(({ applied_at }: { applied_at: string | null }) => applied_at === null),
  )
  assert.ok(!existsSync(m.databaseFile))
})

test('rejects a second service on the same file under any name, allows commands, and starts again after a kill', {
  timeout: 120_000,
}, async () => {
  using m = machine()
  const alias = join(m.folder, 'alias.db')
  {
    await using service = await m.serve()
    symlinkSync(m.databaseFile, alias)
    for (const args of [[], ['--database-url', `sqlite:${alias}`]]) {
      const second = m.run('serve', '--port', '0', ...args)
      assertRejected(
        second,
        /Another bonded serve or bonded dev is running on .*bonded\.db\. Stop it first.*BONDED_DATABASE_URL/,
      )
    }
    assertRejected(m.run('dev', '--port', '0'), /Another bonded serve/)
    assert.equal((await fetch(`${service.origin}/health/ready`)).status, 200)
    m.json(...CREATE_TENANT)
    await service.stop('SIGKILL')
  }
  await using next = await m.serve()
  assert.equal((await fetch(`${next.origin}/health/ready`)).status, 200)
})

test('reports a locked database to a command, returns 503, and recovers when the lock ends', {
  timeout: 120_000,
}, async () => {
  using m = machine()
  const { server_credential } = m.json(...CREATE_TENANT)
  await using service = await m.serve()
  const create = () =>
    fetch(`${service.origin}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server_credential}`, 'content-type': 'application/json' },
      body: '{}',
    })
  const ready = async () => (await fetch(`${service.origin}/health/ready`)).status
  using holder = new DatabaseSync(m.databaseFile, { timeout: 10_000 })
  holder.exec('begin immediate')
  const rejected = await create()
  assert.deepEqual(
    [rejected.status, ((await rejected.json()) as { error: { reason: string } }).error.reason],
    [503, 'store_unavailable'],
  )
  assert.equal(await ready(), 503)
  assertRejected(
    m.run(...CREATE_TENANT),
    /bonded\.db is locked: another program is writing to it.*Close the file there/,
  )
  holder.exec('rollback')
  assert.equal(await ready(), 200)
  assert.equal((await create()).status, 201)
})

test('names a folder that cannot be written, and the setting to change', {
  skip: process.platform === 'win32' && 'Windows has no permissions of folders',
}, (t) => {
  using m = machine()
  const asNobody = process.getuid?.() === 0
  if (asNobody) chownSync(m.folder, NOBODY, NOBODY)
  const user = machine({ folder: m.folder, ...(asNobody ? { uid: NOBODY } : {}) })
  if (user.run('--version').status !== 0) return t.skip('another user cannot read the sources here')
  chmodSync(m.folder, 0o555)
  assertRejected(user.run('serve', '--port', '0'), /cannot be (opened|written).*BONDED_DATA/)
  assertRejected(user.run('tenant', 'list'), /cannot be written.*BONDED_DATA_DIR/)
  chmodSync(m.folder, 0o755)
  user.json(...CREATE_TENANT)
  const before = readFileSync(m.databaseFile)
  chmodSync(m.folder, 0o555)
  assertRejected(user.run('serve', '--port', '0'), /cannot be opened.*BONDED_DATABASE_URL/)
  chmodSync(m.folder, 0o755)
  assert.deepEqual(readFileSync(m.databaseFile), before)
})

test('names the setting of a port that is in use, and releases the database at once', async () => {
  using m = machine()
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as { port: number }
  assertRejected(
    m.run('serve', '--port', String(port)),
    new RegExp(`Port ${port} is in use.*BONDED_PORT`),
  )
  holder.close()
  await using service = await m.serve()
  assert.equal((await fetch(`${service.origin}/health/ready`)).status, 200)
})

test('names the setting of an address that this machine does not have', () => {
  using m = machine()
  assertRejected(
    m.run('serve', '--port', '0', '--host', '192.0.2.1'),
    /no address 192\.0\.2\.1.*BONDED_HOST/,
  )
})

const GOOD_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString(
  'base64url',
)
for (const [what, keys, message] of [
  ['malformed', 'k1:AAAA:more', /key 1 is not of the form id:base64url/],
  ['too short', 'k1:AAAA', /key 1 is not 32 bytes/],
  ['not random', `k1:${Buffer.alloc(32, 1).toString('base64url')}`, /key 1 is not random/],
  ['named twice', `k1:${GOOD_KEY},k1:${GOOD_KEY}`, /key k1 is named twice/],
] as const) {
  test(`does not start with a root key that is ${what}, explains how to generate one, and does not print it`, () => {
    using m = machine({ env: { BONDED_ROOT_KEYS: keys } })
    for (const command of [
      ['serve', '--port', '0'],
      ['config', 'check'],
    ]) {
      const ran = m.run(...command)
      assert.equal(ran.status, 2)
      assert.match(ran.stderr, message)
      assert.match(ran.stderr, /^error: BONDED_ROOT_KEYS: .*openssl rand/)
      assert.ok(!ran.stderr.includes(GOOD_KEY))
    }
    assert.ok(!existsSync(m.databaseFile))
  })
}

test('does not start in production without a root key, and explains how to generate one', () => {
  using m = machine({
    env: { BONDED_ENVIRONMENT: 'production', BONDED_PUBLIC_ORIGIN: 'https://bond.example' },
  })
  const ran = m.run('serve')
  assert.equal(ran.status, 2)
  assert.match(ran.stderr, /BONDED_ROOT_KEYS: is not set.*openssl rand -base64 32/)
  assert.ok(!existsSync(m.databaseFile))
})

test('names an invalid root.key file, and does not replace it', () => {
  using m = machine()
  m.json(...CREATE_TENANT)
  writeFileSync(join(m.folder, 'root.key'), '')
  assertRejected(
    m.run('serve', '--port', '0'),
    /The root key in .*root\.key is not usable.*Restore the file/,
  )
  assert.equal(readFileSync(join(m.folder, 'root.key'), 'utf8'), '')
})
