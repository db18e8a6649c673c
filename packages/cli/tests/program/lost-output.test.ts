import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { COMMAND, CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'
import { smallDisk } from '../../../../tests/harness/small-disk.ts'

const m = machine()
after(() => m[Symbol.dispose]())
const { tenant_id: tenant } = m.json(...CREATE_TENANT)
const env = { ...process.env, BONDED_DATA_DIR: m.folder, NODE_TEST_CONTEXT: undefined }
const noSpace = process.platform !== 'linux' && 'only Linux has /dev/full'

/** Runs the program as a process whose output goes to a file. */
function runInto(file: string, ...words: readonly string[]) {
  return runWith([], file, ...words)
}

function runWith(flags: readonly string[], file: string, ...words: readonly string[]) {
  const output = openSync(file, 'a')
  try {
    return spawnSync(process.execPath, [...flags, ...COMMAND, ...words], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', output, 'pipe'],
    })
  } finally {
    closeSync(output)
  }
}

/** Runs it with a reader that has closed the pipe. */
async function runUnread(...words: readonly string[]) {
  const child = spawn(process.execPath, [...COMMAND, ...words], { env })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (text) => (stderr += String(text)))
  const [status] = (await once(child, 'close')) as [number]
  return { status, stderr }
}

const validKeys = (): string[] =>
  m
    .json('tenant', 'list')
    .flatMap(({ tenant_id }: { tenant_id: string }) => m.json('key', 'list', tenant_id))
    .filter(({ kind, revoked_at }: { kind: string; revoked_at: string | null }) => {
      return kind === 'server' && revoked_at === null
    })
    .map(({ key }: { key: string }) => key)
    .toSorted()

test('exits 1 when the disk of its output is full, also within the last write', async (t) => {
  const disk = smallDisk(1)
  if (disk === undefined) return t.skip('no right to mount a small disk, and /dev/shm is large')
  using _ = disk
  for (let count = 0; count < 8; count++) m.json(...CREATE_TENANT, '--allow-similar-name')
  const whole = m.run('audit', 'export').stdout
  disk.fill()
  const filler = join(disk.folder, 'filler')
  // A page of the file system, so that the first bytes of the last write fit.
  truncateSync(filler, statSync(filler).size - 4_096)
  const file = join(disk.folder, 'audit.jsonl')
  const { status, stderr } = runInto(file, 'audit', 'export')
  const written = readFileSync(file, 'utf8')
  assert.ok(written.length > 0 && written.length < whole.length)
  assert.equal(status, 1)
  assert.match(stderr, /^error: The output was cut off: ENOSPC.*Discard what was written/)
})

test('says in JSON that the output was lost, and also for help and version', {
  skip: noSpace,
}, () => {
  for (const words of [['--version'], ['key', '--help'], ['tenant', 'list', '--json']]) {
    const { status, stderr } = runInto('/dev/full', ...words)
    assert.equal(status, 1, words.join(' '))
    if (words.includes('--json')) assert.equal(JSON.parse(stderr).error.code, 'output_lost')
    else assert.match(stderr, /^error: The output was cut off: /)
  }
})

test('a file system that cannot sync has lost no output, and one that fails to has', () => {
  const file = join(m.folder, 'output')
  const validBefore = validKeys()
  const run = (code: string) => {
    const source = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
fs.fsyncSync = () => { throw Object.assign(new Error('${code}: fsync'), { code: '${code}' }) }
syncBuiltinESMExports()`
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(source)}`]
    return runWith(flags, file, 'key', 'issue', tenant, '--kind', 'server').status
  }
  assert.deepEqual(['EINVAL', 'ENOTSUP', 'ENOSYS'].map(run), [0, 0, 0])
  assert.equal(run('EIO'), 1)
  assert.equal(validKeys().length, validBefore.length + 3)
})

test('ends quietly when the reader closes the pipe', async () => {
  assert.deepEqual(await runUnread('tenant', 'list'), { status: 0, stderr: '' })
  assert.deepEqual(await runUnread('audit', 'export', '--follow'), { status: 0, stderr: '' })
})

test('revokes a server credential that could not be shown', { skip: noSpace }, async () => {
  const before = validKeys()
  const create = ['tenant', 'create', '--name', 'Lost', ...CREATE_TENANT.slice(4), '--json']
  const created = runInto('/dev/full', ...create)
  assert.equal(created.status, 1)
  const { error } = JSON.parse(created.stderr)
  assert.equal(error.code, 'output_lost')
  const [, id] = /bonded key issue (ten_\w+) --kind server/.exec(error.message) ?? []
  assert.deepEqual(validKeys(), before)
  assert.ok(id)
  const { key } = m.json('key', 'issue', id, '--kind', 'server')
  const known = validKeys()
  assert.deepEqual(known, [...before, key as string].toSorted())
  const file = join(m.folder, 'tenants.yaml')
  const applied = '{name: Applied, environment: sandbox, workflows: [{name: a, actions: [a]}]}'
  writeFileSync(file, `tenants: [${applied}]`)
  for (const words of [
    ['key', 'issue', tenant, '--kind', 'server'],
    ['key', 'roll', key],
    ['apply', '--file', file],
  ]) {
    const { status, stderr } = runInto('/dev/full', ...words)
    assert.equal(status, 1, words.join(' '))
    assert.match(stderr, /^error: The output was cut off: ENOSPC/, words.join(' '))
    assert.deepEqual(validKeys(), known, words.join(' '))
  }
  // Whether the reader had taken the credential before it ended cannot be known.
  const { status, stderr } = await runUnread('key', 'issue', tenant, '--kind', 'server')
  assert.equal(status, 1)
  assert.match(stderr, /^error: The output was cut off: .*EPIPE/)
  assert.deepEqual(validKeys(), known)
  assert.equal(m.json('key', 'roll', key).replaces, key)
})

test('a plan that was not shown has changed nothing, and says nothing of tenants', async () => {
  const tenants = m.json('tenant', 'list')
  const file = join(m.folder, 'planned.yaml')
  const planned = '{name: Planned, environment: sandbox, workflows: [{name: a, actions: [a]}]}'
  writeFileSync(file, `tenants: [${planned}]`)
  const unread = await runUnread('apply', '--plan', '--file', file)
  assert.deepEqual(unread, { status: 0, stderr: '' })
  assert.deepEqual(m.json('tenant', 'list'), tenants)
})

test('revokes the credentials of tenants that were applied before one was rejected', () => {
  const before = validKeys()
  const file = join(m.folder, 'rejected.yaml')
  const named = (name: string) =>
    `{name: ${name}, environment: sandbox, workflows: [{name: a, actions: [a]}]}`
  // The second name looks like the first.
  writeFileSync(file, `tenants: [${named('Harbour Credit')}, ${named('Harb\u043eur Credit')}]`)
  const { status, stderr } = m.run('apply', '--json', '--file', file)
  assert.equal(status, 1)
  const { error } = JSON.parse(stderr)
  assert.equal(error.code, 'conflict')
  assert.match(error.message, /Applied before: ten_\w+/)
  assert.match(error.message, /Issue another one: bonded key issue ten_\w+ --kind server/)
  assert.deepEqual(validKeys(), before)
})

test('deletes a webhook endpoint whose secret could not be shown', { skip: noSpace }, () => {
  const words = ['webhook', 'create', tenant, '--url', 'https://hooks.example/a']
  assert.equal(runInto('/dev/full', ...words).status, 1)
  assert.deepEqual(m.json('webhook', 'list', tenant), [])
  const { endpoint_id } = m.json(...words)
  const rotated = runInto('/dev/full', 'webhook', 'rotate', endpoint_id)
  assert.equal(rotated.status, 1)
  assert.match(rotated.stderr, /Rotate it again/)
})
