import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { bondedProgram } from '../src/program.ts'
import { COMMAND, CREATE_TENANT, type Machine, machine } from '../../../tests/harness/process.ts'

const RELIED_ON = [
  'dev|serve|doctor|completion|migrate up|migrate status|config check|config print',
  'tenant create|tenant update|tenant limits|tenant list|tenant show|session list',
  'key issue|key roll|key revoke|key list|device list|device show|device timeline|device block|device unblock|device remove',
  'session show|session timeline|session kill|phone register|phone approve|phone decline|phone list-keys|phone add-key|phone remove-key',
].flatMap((line) => line.split('|'))
const SHELLS = ['bash', 'zsh', 'fish'] as const
const noBash = spawnSync('bash', ['-c', 'true']).status !== 0 && 'no bash'

function leavesOf(
  command: Command,
  before: readonly string[] = [],
): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path: before.join(' '), command }]
  return command.commands.flatMap((child) => leavesOf(child, [...before, child.name()]))
}
const leaves = leavesOf(await bondedProgram())

test('has every command that scripts rely on, each with --json', () => {
  const paths = leaves.map(({ path }) => path)
  for (const path of RELIED_ON) assert.ok(paths.includes(path), path)
  const silent = leaves.filter(
    ({ command }) => !command.options.some(({ long }) => long === '--json'),
  )
  assert.deepEqual(silent, [])
})

test('rejects a range that ends before it begins as wrong usage, in every command with one', () => {
  using m = machine()
  const ranged = leaves.filter(({ command }) =>
    ['--since', '--until'].every((name) => command.options.some(({ long }) => long === name)),
  )
  assert.deepEqual(
    ranged.map(({ path }) => path),
    ['session list', 'session rejections', 'audit list'],
  )
  const [early, late] = ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z']
  for (const { path } of ranged) {
    const { status, stderr } = m.run(...path.split(' '), '--since', late, '--until', early)
    assert.equal(status, 2, path)
    assert.match(stderr, /^error: --since is later than --until\./, path)
    const equal = m.run(...path.split(' '), '--since', late, '--until', late)
    assert.equal(equal.status, 0, equal.stderr)
  }
})

test('prefers a flag to the environment and the environment to the file, and prints the source of each value', () => {
  using files = machine()
  const file = join(files.folder, 'bonded.yaml')
  writeFileSync(file, 'port: 1001\nhost: 0.0.0.0\napp_scheme: acme\n')
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('base64url')
  using m = machine({
    env: {
      BONDED_CONFIG: file,
      BONDED_PORT: '1002',
      BONDED_HOST: '::1',
      BONDED_ROOT_KEYS: `new:${key},older:${key}`,
    },
  })
  const printed = m.json('config', 'print', '--port', '1003') as {
    name: string
    value: string
    source: string
  }[]
  const bySetting = Object.fromEntries(
    printed.map(({ name, value, source }) => [name, [value, source]]),
  )
  assert.deepEqual(bySetting.BONDED_PORT, ['1003', 'flag'])
  assert.deepEqual(bySetting.BONDED_HOST, ['::1', 'environment'])
  assert.deepEqual(bySetting.BONDED_APP_SCHEME, ['acme', 'file'])
  assert.deepEqual(bySetting.BONDED_PUBLIC_ORIGIN, ['http://localhost:1003', 'default'])
  assert.deepEqual(bySetting.BONDED_ROOT_KEYS, ['new, older (keys hidden)', 'environment'])
  assert.ok(
    !JSON.stringify(printed).includes(key) && !m.run('config', 'print').stdout.includes(key),
  )
  assert.equal(m.json('config', 'check').ok, true)
})

test('hides the password of a database URL in config print and config check', () => {
  using m = machine({ env: { BONDED_DATABASE_URL: 'postgres://user:hunter2@db.example/bonded' } })
  for (const command of ['print', 'check']) {
    const { stdout, stderr } = m.run('config', command)
    assert.match(stdout + stderr, command === 'print' ? /user:\*\*\*@db\.example/ : /db\.example/)
    assert.doesNotMatch(stdout + stderr, /hunter2/)
  }
})

test('does not take the environment of a tenant for the one of the service', () => {
  using m = machine()
  const args = [
    '--name',
    'A',
    '--environment',
    'production',
    '--origin',
    'https://a.example',
    '--workflow',
    'w:a',
  ]
  assert.match(m.json('tenant', 'create', ...args).tenant_id, /^ten_/)
})

test('prints a usage error as one JSON document with --json, and exits with 2', () => {
  using m = machine()
  for (const args of [
    ['key', 'roll'],
    ['key', 'roll', 'x', '--grace', 'soon'],
    ['tenant', 'fly'],
    ['device', 'list', '--limit', '0'],
    ['tenant'],
    ['serve', '--port', 'x'],
  ]) {
    const { status, stdout, stderr } = m.run(...args, '--json')
    assert.deepEqual([status, stdout], [2, ''], args.join(' '))
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
    assert.equal(error.code, args[0] === 'serve' ? 'configuration_invalid' : 'usage')
    assert.equal(typeof error.message, 'string')
  }
})

for (const shell of SHELLS) {
  const isMissing = spawnSync(shell, ['-c', 'true']).status !== 0
  test(`generates a completion script for ${shell} that names every command`, () => {
    using m = machine()
    const { script } = m.json('completion', shell) as { script: string }
    for (const { path } of leaves)
      assert.ok(script.includes(path.split(' ').at(-1) ?? ''), `${shell}: ${path}`)
  })

  test(`${shell} parses its completion script`, { skip: isMissing && `no ${shell}` }, () => {
    using m = machine()
    const file = join(m.folder, `completion.${shell}`)
    writeFileSync(file, m.run('completion', shell).stdout)
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  })
}

test('prints no text beside the document of a rejection with --json', () => {
  using m = machine()
  const { status, stdout, stderr } = m.run('tenant', 'show', `ten_${'0'.repeat(22)}`, '--json')
  assert.deepEqual([status, stdout], [3, ''])
  assert.equal(JSON.parse(stderr).error.code, 'not_found')
})

test('repeats what the operator typed as typed', () => {
  using m = machine()
  const create = 'tenant create --name A --environment sandbox --workflow w:a --origin'.split(' ')
  for (const origin of ['localhost:3000', 'https://Shop.example', 'shop.example/pay']) {
    const { stderr } = m.run(...create, origin)
    assert.ok(stderr.startsWith(`error: ${origin} is not an origin.`), stderr)
  }
  const file = join(m.folder, 'none.json')
  const { stderr } = m.run(...CREATE_TENANT, '--workflow-file', file)
  assert.ok(stderr.startsWith(`error: ${file} cannot be read.`), stderr)
})

test('names a tenant by an argument, or beside the reference of its user', () => {
  const named = leaves.filter(({ command }) =>
    command.registeredArguments.some((argument) => argument.name() === 'tenant'),
  )
  assert.deepEqual(named.map(({ path }) => path).toSorted(), [
    'key issue',
    'key list',
    'session list',
    'stats',
    'tenant limits',
    'tenant remove',
    'tenant resume',
    'tenant show',
    'tenant suspend',
    'tenant update',
    'webhook create',
    'webhook deliveries',
    'webhook list',
  ])
  for (const { path, command } of leaves) {
    const names = command.options.map(({ long }) => long)
    const isArgument = named.some((each) => each.path === path)
    assert.equal(names.includes('--tenant'), names.includes('--subject-ref') && !isArgument, path)
  }
})

test('names the members of a list in text as in JSON', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  for (const words of [
    ['tenant', 'list'],
    ['key', 'list', tenant_id],
    ['migrate', 'status'],
    ['config', 'print'],
  ]) {
    const [heading = ''] = m.run(...words).stdout.split('\n')
    const [document = {}] = m.json(...words) as object[]
    for (const name of heading.toLowerCase().split(/ +/))
      assert.ok(name in document, `${words.join(' ')}: ${name}`)
  }
  const shown = m.run('tenant', 'show', tenant_id).stdout
  const { keys, configuration, ...tenant } = m.json('tenant', 'show', tenant_id)
  for (const name of [...Object.keys(tenant), ...Object.keys(configuration)])
    assert.match(shown, new RegExp(`^${name} `, 'm'), name)
  for (const { key, last4 } of keys) assert.match(shown, new RegExp(`${key} .*${last4}`))
})

test('bash completes each value by its kind', { skip: noBash }, () => {
  using m = machine()
  const complete = bashCompleter(m)
  mkdirSync(join(m.folder, 'a folder'))
  writeFileSync(join(m.folder, 'a file'), '')
  const both = [join(m.folder, 'a file'), join(m.folder, 'a folder')]
  const start = join(m.folder, 'a')
  assert.deepEqual(complete('backup', start).toSorted(), both)
  assert.deepEqual(complete('tenant', 'update', '--logo', start).toSorted(), both)
  assert.deepEqual(complete('serve', '--data-dir', start), [join(m.folder, 'a folder')])
  assert.deepEqual(complete('serve', '--port', start), [])
  assert.deepEqual(complete('tenant', 'create', '--name', ''), [])
  assert.deepEqual(complete('key', 'list', start), [], 'an id is no file')
  assert.deepEqual(complete('session', 'kill', '--data-d'), ['--data-dir'])
  assert.ok(!complete('session', 'kill', '').includes('--data-dir'), 'settings only after a dash')
})

test('bash completes commands, options and the values of an option', { skip: noBash }, () => {
  using m = machine()
  const complete = bashCompleter(m)
  assert.deepEqual(complete('dev'), ['device', 'dev'])
  assert.deepEqual(complete('key', 'r'), ['roll', 'revoke'])
  assert.deepEqual(complete('key', 'issue', '--kind', ''), ['server', 'publishable'])
  assert.deepEqual(complete('device', 'list', '--status', 'b'), ['blocked'])
  assert.deepEqual(complete('session', 'kill', '--js'), ['--json'])
  assert.deepEqual(complete('completion', 'f'), ['fish'])
})

/** Completes words with the script of bash. The last word is the one being typed. */
function bashCompleter({ folder, run }: Machine): (...words: string[]) => readonly string[] {
  const script = join(folder, 'completion.bash')
  writeFileSync(script, run('completion', 'bash').stdout)
  return (...words) => {
    const typed = words.map((word) => `'${word}'`).join(' ')
    const asked = `source '${script}'; COMP_WORDS=(bonded ${typed}); COMP_CWORD=${words.length}; _bonded; printf '%s\\n' "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((word) => word !== '')
  }
}

test('a command that does not listen loads no HTTP server and no validator', () => {
  const hooks = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.error(url); return next(url, context) } })`
  const listing = `data:text/javascript,${encodeURIComponent(hooks)}`
  using m = machine({ program: ['--import', listing, ...COMMAND] })
  const { status, stderr } = m.run('tenant', 'list')
  assert.equal(status, 0, stderr)
  assert.match(stderr, /packages\/cli\/src\/tenant\/tenant\.ts$/m)
  for (const name of ['fastify', 'ajv', 'typebox'])
    assert.ok(!stderr.includes(`/node_modules/${name}/`), name)
})
