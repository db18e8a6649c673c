import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../../src/settings/config.ts'
import { describeQrContent } from '../../src/settings/qr-content.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../../core/src/domain/connection-limits.ts'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'

const fileOf = (text: string) => {
  const path = join(mkdtempSync(join(tmpdir(), 'bonded-config-')), 'bonded.yaml')
  writeFileSync(path, text)
  return path
}

test('defaults to a sandbox on this machine', () => {
  const config = readConfig({})
  assert.deepEqual(
    [config.publicOrigin, config.port, config.host, config.databaseFile, config.environment],
    ['http://localhost:8787', 8787, '127.0.0.1', '.bonded/bonded.db', 'sandbox'],
  )
})

test('prefers a flag to the environment, and the environment to the file', () => {
  const BONDED_CONFIG = fileOf('port: 1001\nhost: 0.0.0.0\napp_scheme: acme\n')
  const config = readConfig(
    { BONDED_CONFIG, BONDED_PORT: '1002', BONDED_HOST: '::1' },
    { BONDED_PORT: '1003' },
  )
  assert.deepEqual([config.port, config.host, config.appScheme], [1003, '::1', 'acme'])
})

test('rejects a password on the command line, which other accounts can read', () => {
  const flag = (BONDED_DATABASE_URL: string) => readConfig({}, { BONDED_DATABASE_URL })
  assert.throws(
    () => flag('postgres://bonded:hunter2@127.0.0.1/bonded'),
    (failure) =>
      failure instanceof ConfigError &&
      /--database-url: contains a password/.test(failure.message) &&
      !failure.message.includes('hunter2'),
  )
  assert.equal(flag('postgres://bonded@127.0.0.1/bonded').postgres?.address.user, 'bonded')
})

test('rejects a public origin that would end a directive of a policy, or name two hosts', () => {
  for (const origin of ['https://a;sandbox', 'https://a,b', "https://a'b", 'https://a.example/'])
    assert.throws(() => readConfig({ BONDED_PUBLIC_ORIGIN: origin }), ConfigError, origin)
})

test('reports all mistakes at once, each with its setting, its value and what was expected', () => {
  assert.throws(
    () =>
      readConfig({
        BONDED_PORT: 'eighty',
        BONDED_PUBLIC_ORIGIN: 'https://bond.example/',
        BONDED_ENVIRONMENT: 'prod',
        BONDED_PORTS: '1',
        BONDED_DATABASE_URL: 'mysql://x',
      }),
    (failure) => {
      assert.ok(failure instanceof ConfigError)
      const { mistakes, message } = failure
      assert.deepEqual(mistakes.map(({ setting }) => setting).sort(), [
        'BONDED_DATABASE_URL',
        'BONDED_ENVIRONMENT',
        'BONDED_PORT',
        'BONDED_PORTS',
        'BONDED_PUBLIC_ORIGIN',
      ])
      assert.match(message, /BONDED_PORT: "eighty"\. Expected a port number/)
      return true
    },
  )
})

test('reports a single mistake once', () => {
  assert.throws(
    () => readConfig({ BONDED_PORT: 'x' }),
    (failure) => failure instanceof ConfigError && failure.mistakes.length === 1,
  )
})

test('requires root keys and an https origin in production', () => {
  assert.throws(
    () =>
      readConfig({
        BONDED_ENVIRONMENT: 'production',
        BONDED_PUBLIC_ORIGIN: 'http://localhost:8787',
      }),
    (failure) =>
      failure instanceof ConfigError &&
      failure.mistakes.map(({ setting }) => setting).join() ===
        'BONDED_ROOT_KEYS,BONDED_PUBLIC_ORIGIN',
  )
})

test('ignores the variables of a backend, which one shell has beside those of the service', () => {
  const { rootKeys, ...config } = readConfig({
    BONDED_SERVER_CREDENTIAL: 'sk_beta_0',
    BONDED_PUBLISHABLE_KEY: 'pk',
  })
  const { rootKeys: own, ...without } = readConfig({})
  assert.deepEqual(config, without)
  assert.equal(rootKeys.place, own.place)
})

test('names a file that is missing, is not YAML, or has an unknown setting', () => {
  for (const BONDED_CONFIG of [
    '/nowhere/bonded.yaml',
    fileOf('- a list'),
    fileOf('a: [1'),
    fileOf('colour: red'),
  ]) {
    assert.throws(() => readConfig({ BONDED_CONFIG }), ConfigError)
  }
})

test('enables limits by default, disables them in a sandbox only, and sets each of them', () => {
  assert.deepEqual(readConfig({}).limits, USUAL_LIMITS)
  assert.equal(readConfig({ BONDED_RATE_LIMITS: 'off' }).limits, 'off')
  assert.equal(
    readConfig({ BONDED_CONFIG: fileOf('rate_limits: off\ntrust_proxy: 1\n') }).limits,
    'off',
  )
  const own = readConfig({ BONDED_RATE_LIMITS: 'create=1200/50, get=240' }).limits
  assert.ok(own !== 'off')
  assert.deepEqual(
    [own.create.policy, own.get.policy, own.device],
    ['"create";q=1200;w=60;burst=50', '"get";q=240;w=60', USUAL_LIMITS.device],
  )
})

test('rejects disabled limits in production, together with the other mistakes', () => {
  const production = {
    BONDED_ENVIRONMENT: 'production',
    BONDED_RATE_LIMITS: 'off',
    BONDED_TRUST_PROXY: 'yes',
  }
  assert.throws(
    () => readConfig(production),
    (failure) => {
      assert.ok(failure instanceof ConfigError)
      const settings = failure.mistakes.map(({ setting }) => setting).sort()
      assert.deepEqual(settings, [
        'BONDED_PUBLIC_ORIGIN',
        'BONDED_RATE_LIMITS',
        'BONDED_ROOT_KEYS',
        'BONDED_TRUST_PROXY',
      ])
      assert.match(failure.message, /BONDED_RATE_LIMITS: "off"\. Expected limits in production/)
      return true
    },
  )
  for (const BONDED_RATE_LIMITS of ['', 'no', 'create', 'create=0', 'attempts=3']) {
    assert.throws(() => readConfig({ BONDED_RATE_LIMITS }), ConfigError, BONDED_RATE_LIMITS)
  }
})

test('looks for passport certificates in the data folder, or in another folder that must exist', () => {
  assert.equal(readConfig({ BONDED_DATA_DIR: 'data' }).cscaDir, 'data/csca')
  assert.equal(readConfig({ BONDED_CSCA_DIR: import.meta.dirname }).cscaDir, import.meta.dirname)
  assert.throws(
    () => readConfig({ BONDED_CSCA_DIR: `${import.meta.dirname}/nothing` }),
    (error) =>
      error instanceof ConfigError &&
      error.mistakes.length === 1 &&
      error.mistakes[0]?.setting === 'BONDED_CSCA_DIR',
  )
})

test('reads connection limits with defaults for those that are not named', () => {
  const config = readConfig({ BONDED_CONNECTION_LIMITS: 'total=500, reserve=50' })
  assert.deepEqual(config.connections, { ...DEFAULT_CONNECTION_LIMITS, total: 500, reserve: 50 })
  assert.deepEqual(readConfig({}).connections, DEFAULT_CONNECTION_LIMITS)
  for (const wrong of ['', 'total', 'total=0', 'total=5,total=6', 'totals=5', 'total=5,reserve=5'])
    assert.throws(() => readConfig({ BONDED_CONNECTION_LIMITS: wrong }), ConfigError, wrong)
})

test('reads the addresses of backends', () => {
  const { backendAddresses } = readConfig({ BONDED_BACKEND_ADDRESSES: '10.0.0.0/8, fd00::1' })
  assert.deepEqual(
    ['10.1.2.3', '192.0.2.1'].map((address) => backendAddresses?.check(address)),
    [true, false],
  )
  assert.throws(() => readConfig({ BONDED_BACKEND_ADDRESSES: 'backend.example' }), ConfigError)
})

test('reads where traces go, and rejects a URL with a password and malformed headers', () => {
  const endpoint = 'https://collector.example/v1/traces'
  assert.equal(readConfig({}).traces, undefined)
  assert.deepEqual(
    readConfig({
      BONDED_TRACES_ENDPOINT: endpoint,
      BONDED_TRACES_HEADERS: 'authorization=Bearer a=b, x-tenant=7',
      BONDED_TRACES_RATIO: '0.25',
    }).traces,
    { endpoint, headers: { authorization: 'Bearer a=b', 'x-tenant': '7' }, ratio: 0.25 },
  )
  const wrong = {
    BONDED_TRACES_ENDPOINT: [
      'collector',
      'ftp://collector.example',
      'https://user:secret@c.example',
    ],
    BONDED_TRACES_HEADERS: ['authorization', '=x', 'a=b\r\nc: d'],
    BONDED_TRACES_RATIO: ['2', '-1', 'half', ''],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) assert.throws(() => readConfig({ [name]: value }), /TRACES/, value)
})

test('the relying party id is the host of the public origin, or a registrable domain above it', () => {
  const read = (host: string, rpId?: string) =>
    readConfig({
      BONDED_PUBLIC_ORIGIN: `https://${host}`,
      ...(rpId === undefined ? {} : { BONDED_RP_ID: rpId }),
    }).rpId
  assert.equal(read('bond.bank.example'), 'bond.bank.example')
  assert.equal(readConfig({}).rpId, 'localhost')
  for (const [host, rpId] of [
    ['bond.bank.example', 'bond.bank.example'],
    ['bond.bank.example', 'bank.example'],
    ['bond.eu.bank.co.uk', 'eu.bank.co.uk'],
    ['bond.eu.bank.co.uk', 'bank.co.uk'],
    // A public suffix can be a host.
    ['bank.github.io', 'bank.github.io'],
  ] as const)
    assert.equal(read(host, rpId), rpId)
  for (const [host, rpId] of [
    ['bond.bank.example', 'example'],
    ['bond.bank.co.uk', 'co.uk'],
    ['bank.github.io', 'github.io'],
    ['bond.bank.example', 'ank.example'],
    ['bond.bank.example', '.bank.example'],
    ['bond.bank.example', 'bank.example.'],
    ['bond.bank.example', 'Bank.example'],
    ['bond.bank.example', 'shop.bank.example'],
    ['bond.bank.example', 'https://bank.example'],
    ['bond.bank.example', ''],
    ['192.0.2.1', '0.2.1'],
  ] as const)
    assert.throws(() => read(host, rpId), /BONDED_RP_ID: .* Expected the host/, rpId)
})

test('reads a list of former relying party ids', () => {
  const read = (list: string) => readConfig({ BONDED_RP_ID_FORMER: list }).formerRpIds
  assert.deepEqual(readConfig({}).formerRpIds, [])
  assert.deepEqual(read('bond.example,old.example'), ['bond.example', 'old.example'])
  for (const wrong of ['', 'a.example, b.example', 'https://a.example', 'a_b.example', '*'])
    assert.throws(() => read(wrong), /BONDED_RP_ID_FORMER/, wrong)
})

test('QR codes contain the link for any phone unless the operator has an app', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-qr-')), 'phones.json')
  writeFileSync(file, JSON.stringify({ apple_apps: [{ team_id: 'A1B2C3D4E5', bundle_id: 'a.b' }] }))
  for (const [settings, content] of [
    [{}, 'universal_link'],
    [{ BONDED_PHONES: file }, 'app_scheme'],
    [{ BONDED_APP_SCHEME: 'bank' }, 'app_scheme'],
    [{ BONDED_PHONES: file, BONDED_QR_CONTENT: 'universal_link' }, 'universal_link'],
    [{ BONDED_QR_CONTENT: 'app_scheme' }, 'app_scheme'],
  ] as const)
    assert.equal(readConfig(settings).qrContent, content, JSON.stringify(settings))
  assert.throws(() => readConfig({ BONDED_QR_CONTENT: 'link' }), /BONDED_QR_CONTENT/)
})

test('says which phones a QR code opens on, and that none reaches this machine', () => {
  const described = (settings: Record<string, string>) => describeQrContent(readConfig(settings))
  const BONDED_PUBLIC_ORIGIN = 'https://bond.example'
  assert.match(described({ BONDED_PUBLIC_ORIGIN }), /^opens on any phone, in its browser$/)
  assert.match(
    described({ BONDED_PUBLIC_ORIGIN, BONDED_APP_SCHEME: 'bank' }),
    /^opens only on phones with an app for bank:\/\//,
  )
  for (const local of [
    {},
    { BONDED_APP_SCHEME: 'bank' },
    { BONDED_PUBLIC_ORIGIN: 'http://127.0.0.1:1' },
    { BONDED_PUBLIC_ORIGIN: 'https://localhost' },
  ])
    assert.match(
      described(local),
      /^opens on this computer only: a phone cannot reach http.* BONDED_PUBLIC_ORIGIN/,
      JSON.stringify(local),
    )
})
