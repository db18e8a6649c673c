import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  chosenSettings,
  ConfigError,
  readConfig,
  type SettingFlags,
} from '../../src/settings/config.ts'
import { describeQrContent } from '../../src/settings/qr-content.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-mistakes-'))
after(() => rmSync(folder, { recursive: true }))
const fileOf = (name: string, content: unknown) => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const DIGEST = 'ab'.repeat(32)
const KEYS = `k1:${'A'.repeat(43)}`
const PRODUCTION = {
  BONDED_ENVIRONMENT: 'production',
  BONDED_PUBLIC_ORIGIN: 'https://bond.example',
  BONDED_ROOT_KEYS: KEYS,
}

function failureOf(
  variables: NodeJS.ProcessEnv,
  flags: SettingFlags = {},
  options: Parameters<typeof readConfig>[2] = {},
): ConfigError {
  try {
    readConfig(variables, flags, options)
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    return failure
  }
  return assert.fail('the configuration is valid')
}
const mistakesOf = (...given: Parameters<typeof failureOf>) => [...failureOf(...given).mistakes]

// The machine of the tests can have them too.
const { PGSSLMODE, PGSSLROOTCERT, PGPASSWORD } = process.env
for (const name of ['PGSSLMODE', 'PGSSLROOTCERT', 'PGPASSWORD']) delete process.env[name]
after(() => {
  for (const [name, value] of Object.entries({ PGSSLMODE, PGSSLROOTCERT, PGPASSWORD }))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

test('what production forbids is reported with what to do in its place', () => {
  const unsafe = {
    BONDED_ENVIRONMENT: 'production',
    BONDED_RATE_LIMITS: 'off',
    BONDED_TEST_ROOTS: fileOf('roots.json', {}),
  }
  assert.deepEqual(mistakesOf(unsafe), [
    {
      setting: 'BONDED_ROOT_KEYS',
      value: 'is not set',
      expected:
        'a key or BONDED_ROOT_KEYS_COMMAND in production, a key as k1:<key>. To generate one: openssl rand -base64 32 | tr +/ -_ | tr -d =',
    },
    {
      setting: 'BONDED_PUBLIC_ORIGIN',
      value: '"http://localhost:8787"',
      expected: 'an https origin in production',
    },
    {
      setting: 'BONDED_RATE_LIMITS',
      value: '"off"',
      expected: 'limits in production; raise them one by one',
    },
    {
      setting: 'BONDED_TEST_ROOTS',
      value: JSON.stringify(unsafe.BONDED_TEST_ROOTS),
      expected: 'no test roots in production, because their private keys are not secret',
    },
  ])
  const { BONDED_ROOT_KEYS: _keys, ...without } = PRODUCTION
  const command = { ...without, BONDED_ROOT_KEYS_COMMAND: process.execPath }
  assert.equal(readConfig(command).environment, 'production')
})

test('a setting that this version does not know is named, and can be ignored', () => {
  const variables = { BONDED_PORTS: '1', BONDED_COLOUR: 'red', HOME: '/', MY_BONDED_PORT: '1' }
  const failure = failureOf(variables)
  assert.deepEqual(failure.unknown, ['BONDED_PORTS', 'BONDED_COLOUR'])
  for (const { setting, value, expected } of failure.mistakes) {
    assert.match(setting, /^BONDED_(PORTS|COLOUR)$/)
    assert.equal(value, 'is set')
    assert.match(
      expected,
      /^one of BONDED_PUBLIC_ORIGIN, BONDED_RP_ID, .*, BONDED_OPERATOR, BONDED_ENVIRONMENT$/,
    )
  }
  assert.deepEqual(failureOf({ BONDED_PORT: 'x' }).unknown, [])
  const ignored = ['BONDED_PORTS', 'BONDED_COLOUR']
  assert.equal(readConfig(variables, {}, { ignored }).port, 8_787)
})

test('the service has no setting named as a variable of backends, phones and examples', () => {
  for (const name of [
    'BONDED_ORIGIN',
    'BONDED_PUBLISHABLE_KEY',
    'BONDED_SCHEME',
    'BONDED_SERVER_CREDENTIAL',
    'BONDED_SERVICE_ORIGIN',
    'BONDED_STORE',
    'BONDED_SUBJECT',
    'BONDED_TEST_DOUBLE',
  ])
    assert.equal(readConfig({ [name]: 'x' }).port, 8_787, name)
})

test('the file of settings is reported with its path, and its unknown members by their names', () => {
  const wrong = (path: string, expected: string) =>
    assert.deepEqual(mistakesOf({ BONDED_CONFIG: path }), [
      { setting: 'BONDED_CONFIG', value: JSON.stringify(path), expected },
    ])
  wrong(join(folder, 'none.yaml'), 'a file that exists')
  wrong(fileOf('list.yaml', '- port'), 'a YAML file of settings')
  wrong(fileOf('broken.yaml', 'a: [1'), 'a YAML file of settings')
  wrong(fileOf('empty.yaml', ''), 'a YAML file of settings')

  const path = fileOf('unknown.yaml', 'port: 81\ncolour: red\n"root_keys:hunter2": x\n')
  const failure = failureOf({}, { BONDED_CONFIG: path })
  assert.deepEqual(
    failure.mistakes.map(({ setting, value, unknown }) => [setting, value, unknown]),
    [
      [`${path}: colour`, 'is set', 'BONDED_COLOUR'],
      [`${path}: a member (not shown)`, 'is set', 'BONDED_ROOT_KEYS:HUNTER2'],
    ],
  )
  for (const { expected } of failure.mistakes)
    assert.match(expected, /^one of public_origin, rp_id, .*, operator, environment$/)
  const one = fileOf('one.yaml', 'port: 81\ncolour: red\n')
  assert.equal(readConfig({ BONDED_CONFIG: one }, {}, { ignored: ['BONDED_COLOUR'] }).port, 81)
  // The flag names another file than the environment.
  const other = fileOf('other.yaml', 'port: 82\n')
  const both = readConfig({ BONDED_CONFIG: path }, { BONDED_CONFIG: other })
  assert.equal(both.port, 82)
})

test('the file of a secret is reported without what it could be, and not beside the setting', () => {
  for (const [name, value] of [
    ['BONDED_ROOT_KEYS', KEYS],
    ['BONDED_DATABASE_URL', 'sqlite:/srv/bonded.db'],
    ['BONDED_TRACES_HEADERS', 'authorization=hunter2'],
  ] as const) {
    const setting = `${name}_FILE`
    const expected = 'a file that this user can read, with 1 to 65,536 bytes'
    assert.deepEqual(mistakesOf({ [setting]: 'hunter2' }), [
      { setting, value: '(not shown)', expected },
    ])
    const empty = fileOf('empty', '')
    assert.deepEqual(mistakesOf({ [setting]: empty }), [
      { setting, value: JSON.stringify(empty), expected },
    ])
    assert.deepEqual(mistakesOf({ [setting]: fileOf('secret', value), [name]: value }), [
      { setting, value: 'is set', expected: `it or ${name}, not both` },
    ])
  }
  const whole = fileOf('whole', `sqlite:${'d'.repeat(65_536 - 7)}`)
  assert.equal(readConfig({ BONDED_DATABASE_URL_FILE: whole }).databaseFile.length, 65_529)
  const headers = fileOf('headers', ' authorization=Bearer a=b ,x-tenant=7\n')
  const BONDED_TRACES_ENDPOINT = 'https://collector.example'
  assert.deepEqual(
    readConfig({ BONDED_TRACES_ENDPOINT, BONDED_TRACES_HEADERS_FILE: headers }).traces,
    {
      endpoint: BONDED_TRACES_ENDPOINT,
      headers: { authorization: 'Bearer a=b', 'x-tenant': '7' },
      ratio: 1,
    },
  )
})

test('variables of other PostgreSQL clients are reported by their own names', () => {
  const BONDED_DATABASE_URL = 'postgres://bonded@db.example/bonded'
  process.env.PGSSLMODE = 'allow'
  assert.deepEqual(mistakesOf({ BONDED_DATABASE_URL }), [
    {
      setting: 'PGSSLMODE or PGSSLROOTCERT',
      value: 'is not valid',
      expected: 'disable or verify-full, and a file with the certificate of an authority',
    },
  ])
  delete process.env.PGSSLMODE
  const withPassword = 'postgres://bonded:hunter2@db.example/bonded'
  assert.deepEqual(mistakesOf({}, { BONDED_DATABASE_URL: withPassword }), [
    {
      setting: '--database-url',
      value: 'contains a password, which other accounts of this machine can read',
      expected: 'no password. Set BONDED_DATABASE_URL in the environment, or PGPASSWORD',
    },
  ])
  assert.equal(
    readConfig({ BONDED_DATABASE_URL: withPassword }).postgres?.address.password,
    'hunter2',
  )
})

test('shows each setting with its value and where it comes from, and no secret', () => {
  const BONDED_CONFIG = fileOf('shown.yaml', 'app_scheme: acme\nport: 81\nhost: ::1\n')
  const chosen = chosenSettings(
    {
      BONDED_CONFIG,
      BONDED_PORT: '82',
      BONDED_HOST: '::2',
      BONDED_DATABASE_URL: 'postgres://bonded:hunter2@db.example/bonded?sslmode=verify-full',
      BONDED_ROOT_KEYS_COMMAND: 'hunter2',
      BONDED_RECEIPT_KEYS: 'hunter2',
      BONDED_RECEIPT_COMMAND: process.execPath,
      BONDED_TRACES_ENDPOINT: 'https://bonded:hunter2@collector.example',
    },
    { BONDED_PORT: '83', BONDED_DATA_DIR: 'data' },
  )
  const shown = Object.fromEntries(chosen.map(({ name, value, source }) => [name, [value, source]]))
  assert.deepEqual(
    Object.fromEntries(Object.entries(shown).filter(([, [, source]]) => source !== 'default')),
    {
      BONDED_PORT: ['83', 'flag'],
      BONDED_HOST: ['::2', 'environment'],
      BONDED_DATABASE_URL: [
        'postgres://bonded:***@db.example/bonded?sslmode=verify-full',
        'environment',
      ],
      BONDED_ROOT_KEYS_COMMAND: ['(not shown)', 'environment'],
      BONDED_RECEIPT_KEYS: ['(not shown)', 'environment'],
      BONDED_RECEIPT_COMMAND: [process.execPath, 'environment'],
      BONDED_APP_SCHEME: ['acme', 'file'],
      BONDED_DATA_DIR: ['data', 'flag'],
      BONDED_TRACES_ENDPOINT: ['(not shown)', 'environment'],
    },
  )
  assert.deepEqual(shown.BONDED_PUBLIC_ORIGIN, ['http://localhost:83', 'default'])
  assert.deepEqual(shown.BONDED_CSCA_DIR, ['data/csca, if it exists', 'default'])
  const byDefault = Object.fromEntries(chosenSettings({}).map(({ name, value }) => [name, value]))
  assert.deepEqual(
    [byDefault.BONDED_PUBLIC_ORIGIN, byDefault.BONDED_DATABASE_URL, byDefault.BONDED_DATA_DIR],
    ['http://localhost:8787', 'sqlite:.bonded/bonded.db', '.bonded'],
  )
  const valueOf = (variables: NodeJS.ProcessEnv) =>
    chosenSettings(variables).find(({ name }) => name in variables)?.value
  for (const url of ['sqlite:/srv/bonded.db', 'postgres://bonded@db.example/bonded'])
    assert.equal(valueOf({ BONDED_DATABASE_URL: url }), url)
  assert.equal(valueOf({ BONDED_DATABASE_URL: 'postgres:/bonded:hunter2@db' }), '(not shown)')
  const BONDED_TRACES_ENDPOINT = 'https://collector.example/v1/traces'
  assert.equal(valueOf({ BONDED_TRACES_ENDPOINT }), BONDED_TRACES_ENDPOINT)
  assert.deepEqual(
    chosen.filter(({ secret }) => secret).map(({ name }) => name),
    ['BONDED_ROOT_KEYS', 'BONDED_TRACES_HEADERS'],
  )
})

test('says which phones a QR code opens on, in whole sentences', () => {
  const phones = fileOf('qr.json', {
    android_apps: [{ package: 'a.b', certificate_digests: [DIGEST] }],
  })
  const described = (more: Record<string, string>, origin = 'https://bond.example') =>
    describeQrContent(readConfig({ BONDED_PUBLIC_ORIGIN: origin, ...more }))
  assert.equal(described({}), 'opens on any phone, in its browser')
  assert.equal(
    described({ BONDED_PHONES: phones, BONDED_QR_CONTENT: 'universal_link' }),
    'opens on any phone: in your app where it is installed, otherwise in the browser',
  )
  assert.equal(
    described({ BONDED_PHONES: phones }),
    'opens only on phones with an app for pulse://. Set BONDED_QR_CONTENT=universal_link for any phone',
  )
  assert.equal(
    described({}, 'http://[::1]:8787'),
    'opens on this computer only: a phone cannot reach http://[::1]:8787. For a phone, set BONDED_PUBLIC_ORIGIN to an https address that it reaches, such as a tunnel’s',
  )
})
