import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chownSync, readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { test } from 'node:test'
import { COMMAND, CREATE_TENANT, type Machine, machine } from '../../../../tests/harness/process.ts'

/** What the kernel says of a process outside any login. */
const NO_LOGIN = '4294967295'
const HAS_LOGINS = loginUid() !== undefined
const skip =
  (!HAS_LOGINS && 'this kernel counts no logins') ||
  (loginUid() !== NO_LOGIN && 'this test runs in a login, which the kernel does not let it leave')

/** No account has it. */
const LOGIN = '471100'
/** What a caller can set, in the hope of another name. */
const CLAIMS = {
  LOGNAME: 'mallory',
  USER: 'mallory',
  SUDO_USER: 'mallory',
  SSH_CONNECTION: '203.0.113.7 1 203.0.113.8 22',
}
const PRODUCTION = {
  BONDED_ENVIRONMENT: 'production',
  BONDED_PUBLIC_ORIGIN: 'https://bond.example',
  BONDED_ROOT_KEYS: 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE',
}

function loginUid(): string | undefined {
  try {
    return readFileSync('/proc/self/loginuid', 'utf8').trim()
  } catch {
    return undefined
  }
}

/** Runs a command that must succeed in a new login of the kernel. */
function inLogin({ folder }: Machine, ...words: readonly string[]): void {
  const { status, stderr } = spawnSync(
    'sh',
    [
      '-c',
      'echo "$0" > /proc/self/loginuid && exec "$@"',
      LOGIN,
      process.execPath,
      ...COMMAND,
      ...words,
    ],
    { encoding: 'utf8', env: { ...process.env, BONDED_DATA_DIR: folder, ...CLAIMS } },
  )
  assert.equal(status, 0, stderr)
}

/** Who was recorded, from where, and with which result. */
function recorded(on: Machine): readonly string[][] {
  const { entries } = on.json('audit', 'list', '--action', 'tenant create')
  return entries.map(({ actor, address, result }: Record<string, string>) => [
    actor,
    address,
    result,
  ])
}

test('a login uid without a session of logind is marked, and a stated name replaces it', {
  skip,
}, () => {
  using shared = machine()
  inLogin(shared, ...CREATE_TENANT)
  inLogin(shared, ...CREATE_TENANT, '--allow-similar-name', '--operator', 'alice')
  const account = userInfo().username
  assert.deepEqual(recorded(shared), [
    [`uid ${LOGIN} without a session`, hostname(), 'success'],
    [`alice (stated by ${account})`, hostname(), 'success'],
  ])
})

test('numbers of a user namespace, which its caller chooses, name no operator', {
  skip: skip || (spawnSync('unshare', ['-r', 'true']).status !== 0 && 'no user namespaces here'),
}, () => {
  using shared = machine()
  const env = { ...process.env, BONDED_DATA_DIR: shared.folder, ...CLAIMS, SUDO_UID: '2' }
  const words = ['--map-user=0', process.execPath, ...COMMAND, ...CREATE_TENANT]
  const { status, stderr } = spawnSync('unshare', words, { encoding: 'utf8', env })
  assert.equal(status, 0, stderr)
  const [[actor] = []] = recorded(shared)
  assert.equal(actor, 'root')
})

test('sudo names the operator of a process of root outside a login, and of no other account', {
  skip: skip || (process.getuid?.() !== 0 && 'it changes the account'),
}, () => {
  const [, name, uid] = /^(\w+):[^:]*:([1-9]\d*):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  const env = { ...CLAIMS, SUDO_UID: uid ?? '' }
  using root = machine({ env })
  root.json(...CREATE_TENANT)
  assert.deepEqual(recorded(root), [[`${name} (uid ${uid}) by sudo`, hostname(), 'success']])
  using other = machine({ env, uid: 471_101 })
  chownSync(other.folder, 471_101, 471_101)
  other.json(...CREATE_TENANT)
  assert.deepEqual(recorded(other), [['uid 471101', hostname(), 'success']])
})

test('production rejects a recorded command that nothing names, and records a stated name as such', {
  skip,
}, () => {
  using container = machine({ env: { ...CLAIMS, ...PRODUCTION } })
  const rejected = container.run(...CREATE_TENANT)
  assert.equal(rejected.status, 1)
  assert.match(rejected.stderr, /belongs to no login.*--operator <name> or BONDED_OPERATOR/)
  assert.deepEqual(container.json('tenant', 'list'), [], 'it reads no data of a user')
  assert.match(container.run('session', 'list').stderr, /--operator/)
  container.json(...CREATE_TENANT, '--operator', 'alice')
  using stating = machine({
    folder: container.folder,
    env: { ...PRODUCTION, BONDED_OPERATOR: 'bob' },
  })
  stating.json(...CREATE_TENANT, '--allow-similar-name')
  const account = userInfo().username
  assert.deepEqual(recorded(stating), [
    [`alice (stated by ${account})`, hostname(), 'success'],
    [`bob (stated by ${account})`, hostname(), 'success'],
  ])
})

test('doctor warns while all operators have one name, and names the one of its caller', {
  skip,
}, () => {
  using shared = machine()
  const finding = () => {
    const { stdout } = shared.run('doctor', '--json')
    const { findings } = JSON.parse(stdout) as {
      findings: { check: string; says: string; warnings?: readonly string[] }[]
    }
    return findings.find(({ check }) => check === 'operators')
  }
  for (let count = 0; count < 5; count++) shared.json(...CREATE_TENANT, '--allow-similar-name')
  const name = userInfo().username
  assert.equal(finding()?.says, `A command from here is recorded as ${name}, at ${hostname()}.`)
  assert.match(
    finding()?.warnings?.join('\n') ?? '',
    new RegExp(`^All of the last 5 commands of operators were recorded as ${name}\\.`),
  )
  inLogin(shared, ...CREATE_TENANT, '--allow-similar-name')
  assert.deepEqual(finding()?.warnings, [])
})
