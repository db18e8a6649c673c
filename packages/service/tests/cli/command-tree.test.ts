import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { bondedProgram } from '../../src/cli/program.ts'
import { machine } from '../harness/process.ts'

const RELIED_ON = [
  'dev|serve|doctor|completion|migrate up|migrate status|config check|config print',
  'tenant create|tenant update|tenant limits|tenant list|tenant show|session list',
  'key issue|key roll|key revoke|key list|device list|device show|device timeline|device block|device unblock|device remove',
  'session show|session timeline|session kill|phone register|phone approve|phone decline|phone list-keys|phone add-key|phone remove-key',
].flatMap((line) => line.split('|'))
const SHELLS = ['bash', 'zsh', 'fish'] as const

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

test('prefers a flag to the environment and the environment to the file, and prints the source of each value', () => {
  using files = machine()
  const file = join(files.folder, 'bonded.yaml')
  writeFileSync(file, 'port: 1001\nhost: 0.0.0.0\napp_scheme: acme\n')
  const key = Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64url')
  using m = machine({
    env: {
      BONDED_CONFIG: file,
      BONDED_PORT: '1002',
      BONDED_HOST: '::1',
      BONDED_ROOT_KEYS: `new:${key}`,
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
  assert.deepEqual(bySetting.BONDED_ROOT_KEYS, ['new (keys hidden)', 'environment'])
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
  ]) {
    const { status, stdout } = m.run(...args, '--json')
    assert.equal(status, 2, args.join(' '))
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } }
    assert.deepEqual([error.code, typeof error.message], ['usage', 'string'])
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

test('bash completes commands, options and the values of an option', {
  skip: spawnSync('bash', ['-c', 'true']).status !== 0 && 'no bash',
}, () => {
  using m = machine()
  const script = join(m.folder, 'completion.bash')
  writeFileSync(script, m.run('completion', 'bash').stdout)
  const complete = (...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(' ')
    const asked = `source '${script}'; COMP_WORDS=(bonded ${typed}); COMP_CWORD=${words.length}; _bonded; echo "\${COMPREPLY[*]}"`
    return spawnSync('bash', ['-c', asked], { encoding: 'utf8' }).stdout.trim().split(' ')
  }
  assert.deepEqual(complete('dev'), ['dev', 'device'])
  assert.deepEqual(complete('key', 'r'), ['roll', 'revoke'])
  assert.deepEqual(complete('key', 'issue', '--kind', ''), ['server', 'publishable'])
  assert.deepEqual(complete('device', 'list', '--status', 'b'), ['blocked'])
  assert.deepEqual(complete('session', 'kill', '--js'), ['--json'])
  assert.deepEqual(complete('completion', 'f'), ['fish'])
})
