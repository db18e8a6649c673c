import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isServerCredential, PRESETS } from '@bonded/contract'
import { MIGRATIONS } from '../../../store/src/migrations/migrations.ts'
import { machine } from '../../../../tests/harness/process.ts'

const BIN = resolve(import.meta.dirname, '../../../service/bin/bonded.js')

const CREATE_ACME =
  'tenant create --name Acme --environment sandbox --origin https://acme.example --workflow wire_transfer:approve_wire'.split(
    ' ',
  )

/** The command line as installed, with its launcher, on a data folder of its own. */
const installed = () => machine({ program: [BIN] })

test('creates, lists and shows a tenant, and shows its credential once', () => {
  const { folder, run, json } = installed()
  const made = json(
    'tenant',
    'create',
    '--name',
    'Acme',
    '--environment',
    'sandbox',
    '--origin',
    'https://acme.example',
    '--workflow',
    'wire_transfer:approve_wire,change_limit:passport=required',
  )
  assert.match(made.tenant_id, /^ten_/)
  assert.match(made.publishable_key, /^pk_beta_/)
  assert.ok(isServerCredential(made.server_credential))
  const shown = json('tenant', 'show', made.tenant_id)
  assert.deepEqual(shown.workflows, [
    { name: 'wire_transfer', actions: ['approve_wire', 'change_limit'], passport: 'required' },
  ])
  assert.ok(!JSON.stringify(shown).includes(made.server_credential.slice(19, -6)))
  const printed = run('tenant', 'show', made.tenant_id).stdout
  assert.match(
    printed,
    /Your backend creates sessions at http:\/\/localhost:8787\/api\/v1\/sessions\./,
  )
  assert.equal(json('tenant', 'list').length, 1)
  assert.match(run('tenant', 'list').stdout, /Acme/)
  for (const file of ['root.key', 'bonded.db'])
    assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600)
})

test('prints what the keys of phones prove, below the credential of a new tenant', () => {
  const { run } = machine()
  const { stdout } = run(...CREATE_ACME)
  assert.ok(stdout.indexOf('sk_beta_') < stdout.indexOf('FIRST VISIT'), stdout)
  assert.match(stdout, /passkey without attestation\s+low: the gate sends it to review\s+medium/)
})

test('prints hidden characters of a stored text as escapes, in JSON too', () => {
  const { folder, run, json } = machine()
  const { tenant_id } = json(...CREATE_ACME)
  const name = 'Acme\u001b[2J\u202e\u009b31m\nten_forged'
  const db = new DatabaseSync(join(folder, 'bonded.db'))
  db.prepare('update tenant set name = ?').run(name)
  db.close()
  for (const args of [['list'], ['show', tenant_id]]) {
    const { stdout } = run('tenant', ...args)
    assert.ok(stdout.includes('Acme\\u{1b}[2J\\u{202e}\\u{9b}31m\\u{a}ten_forged'), stdout)
    const printed = run('tenant', ...args, '--json').stdout
    assert.doesNotMatch(printed, /[^\P{C}\n]/u)
    assert.ok(printed.includes('\\u202e\\u009b31m'), printed)
  }
  assert.equal(json('tenant', 'show', tenant_id).name, name)
})

test('rejects a tenant name that could mislead the user of a phone', () => {
  const { run } = machine()
  const rejected = run(...CREATE_ACME, '--name', 'Ac\u202eme')
  assert.equal(rejected.status, 1)
  assert.match(rejected.stderr, /name/)
  assert.doesNotMatch(rejected.stderr, /\u202e/)
})

test('takes workflows and actions as tenants name them, and says what a name may have', () => {
  const { run, json } = machine()
  const { tenant_id } = json(...CREATE_ACME, '--workflow', 'Payments.SEPA-1:9.Approve,toString')
  const scope = ['--workflow', 'Payments.SEPA-1:toString']
  json('key', 'issue', tenant_id, '--kind', 'server', ...scope)
  const shown = json('tenant', 'show', tenant_id)
  assert.deepEqual(shown.workflows[1].actions, ['9.Approve', 'toString'])
  const rejected = run(...CREATE_ACME, '--workflow', 'wire transfer:approve')
  assert.match(rejected.stderr, /A-Z a-z 0-9 \. _ -, at most 64/)
})

test('reads workflows with their policies from a file, and names a mistake in it', () => {
  const { folder, run, json } = machine()
  const file = join(folder, 'workflows.json')
  const create = [
    'tenant',
    'create',
    '--name',
    'A',
    '--environment',
    'production',
    '--origin',
    'https://a.example',
    '--workflow-file',
    file,
  ]
  writeFileSync(
    file,
    JSON.stringify([
      {
        name: 'w',
        actions: ['a'],
        require: ['local_auth', 'band:high'],
        subject: 'required',
        session_ttl_seconds: 120,
      },
    ]),
  )
  const made = json(...create)
  assert.equal(json('tenant', 'show', made.tenant_id).workflows[0].session_ttl_seconds, 120)
  for (const [mistake, message] of [
    [{ session_ttl_seconds: 5 }, /workflow 1: .*session_ttl_seconds/],
    [{ preset: 'agent', webauthn: 'any' }, /workflow w: the preset agent sets webauthn/],
  ] as const) {
    writeFileSync(file, JSON.stringify([{ name: 'w', actions: ['a'], ...mistake }]))
    const rejected = run(...create)
    assert.equal(rejected.status, 1)
    assert.match(rejected.stderr, message)
  }
})

test('stores the preset agent as what it consists of, and shows it so', () => {
  const { run, json } = machine()
  const { tenant_id } = json(...CREATE_ACME, '--workflow', 'pay:invoice:preset=agent')
  const shown = json('tenant', 'show', tenant_id).workflows
  assert.deepEqual(shown.at(-1), { name: 'pay', actions: ['invoice'], ...PRESETS.agent })
  const written =
    'pay:invoice:passport=none:delivery=inbox:subject=required:requester=required' +
    ':webauthn=seasoned:require=local_auth'
  assert.ok(run('tenant', 'show', tenant_id).stdout.includes(written))
  const other = ['--add-workflow', 'a:a:preset=none']
  assert.equal(run('tenant', 'update', tenant_id, ...other).status, 2)
})

test('issues a key for a scope and revokes it once', () => {
  const { run, json } = machine()
  const { tenant_id } = json(
    'tenant',
    'create',
    '--name',
    'A',
    '--environment',
    'sandbox',
    '--origin',
    'https://a.example',
    '--workflow',
    'w:a,b',
  )
  const issued = json('key', 'issue', tenant_id, '--kind', 'server', '--workflow', 'w:a')
  assert.ok(isServerCredential(issued.server_credential))
  assert.equal(json('key', 'revoke', issued.key).revoked, issued.key)
  assert.equal(run('key', 'revoke', issued.key).status, 1)
  assert.equal(run('key', 'issue', tenant_id, '--kind', 'server', '--workflow', 'w:z').status, 3)
})

test('sets, replaces and restores the rate limits of a tenant', () => {
  const { run, json } = machine()
  const create = [
    'tenant',
    'create',
    '--name',
    'A',
    '--environment',
    'sandbox',
    '--origin',
    'https://a.example',
    '--workflow',
    'w:a',
  ]
  const { tenant_id } = json(...create, '--limit', 'create=1200/200', '--limit', 'get=240')
  const shown = () => json('tenant', 'show', tenant_id).limits
  assert.deepEqual(shown(), {
    create: { per_minute: 1200, burst: 200 },
    get: { per_minute: 240, burst: 240 },
  })
  const limits = { create_address: { per_minute: 10, burst: 10 } }
  assert.deepEqual(json('tenant', 'limits', tenant_id, '--limit', 'create_address=10'), {
    tenant_id,
    limits,
  })
  assert.deepEqual(shown(), limits)
  assert.equal(json('tenant', 'limits', tenant_id).limits, null)
  assert.equal(shown(), null)
  const notTheirs = run('tenant', 'limits', tenant_id, '--limit', 'device=10')
  assert.deepEqual(
    [notTheirs.status, notTheirs.stderr.trim()],
    [1, 'error: device cannot be set for a tenant. Use create, create_address, get, backend.'],
  )
  assert.equal(run('tenant', 'limits', `ten_${'0'.repeat(22)}`, '--limit', 'get=1').status, 3)
  assert.equal(run(...create, '--limit', 'create=fast').status, 2)
})

test('exits with 1 for a rejection, 2 for wrong usage, and 3 for what does not exist, without a stack', () => {
  const { run } = machine()
  const localhost = run(
    'tenant',
    'create',
    '--name',
    'A',
    '--environment',
    'production',
    '--origin',
    'http://localhost:1',
    '--workflow',
    'w:a',
  )
  assert.equal(localhost.status, 1)
  assert.match(localhost.stderr, /created with --demo/)
  for (const args of [
    ['nonsense'],
    ['tenant', 'create'],
    ['tenant', 'create', '--name', 'A', '--environment', 'moon'],
    ['phone', 'approve'],
  ]) {
    const ran = run(...args)
    assert.equal(ran.status, 2, `${args.join(' ')}: ${ran.stderr}`)
    assert.doesNotMatch(ran.stderr, / at .*:\d+:\d+/)
  }
  const picture = run('phone', 'approve', '--qr', '/nowhere.png')
  assert.equal(picture.status, 1)
  assert.doesNotMatch(picture.stderr, / at .*:\d+:\d+/)
  const unknown = run('session', 'show', `sess_${'0'.repeat(22)}`)
  assert.deepEqual(
    [unknown.status, /^error: No session sess_0+\. /.test(unknown.stderr)],
    [3, true],
  )
})

test('explains how to start a service that accepts the key format of the phone', () => {
  const { folder, run } = machine()
  assert.equal(run('phone', 'register', '--format', 'magic').status, 2)
  const unreachable = run(
    'phone',
    'register',
    '--format',
    'android-key',
    '--origin',
    'http://localhost:1',
  )
  assert.deepEqual(
    [unreachable.status, /did not answer/.test(unreachable.stderr)],
    [4, true],
    unreachable.stderr,
  )
  assert.ok(statSync(join(folder, 'test-roots.json')).isFile())
})

test('reports every mistake of the configuration, with exit 2', () => {
  const ran = spawnSync(process.execPath, [BIN, 'serve'], {
    encoding: 'utf8',
    env: { ...process.env, BONDED_PORT: 'x', BONDED_ENVIRONMENT: 'production' },
  })
  assert.equal(ran.status, 2)
  for (const setting of ['BONDED_PORT', 'BONDED_ROOT_KEYS'])
    assert.match(ran.stderr, new RegExp(setting))
})

test('applies the schema once and reports its state', () => {
  const { json } = machine()
  assert.equal(json('migrate', 'up').applied.length, MIGRATIONS.length)
  assert.deepEqual(json('migrate', 'up').applied, [])
  assert.ok(
    json('migrate', 'status').every(
      ({ applied_at }: { applied_at: string | null }) => applied_at !== null,
    ),
  )
})
