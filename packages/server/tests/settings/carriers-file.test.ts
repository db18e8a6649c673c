import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { ConfigError, readConfig } from '../../src/settings/config.ts'
import { CARRIER_MEMBERS } from '../../src/settings/carriers-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-carriers-'))
const pem = ({ privateKey }: { privateKey: KeyObject }) =>
  String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
const EC_KEY = pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }))
writeFileSync(join(folder, 'ec.pem'), EC_KEY)
writeFileSync(join(folder, 'rsa.pem'), pem(generateKeyPairSync('rsa', { modulusLength: 2048 })))
writeFileSync(join(folder, 'weak.pem'), pem(generateKeyPairSync('rsa', { modulusLength: 1024 })))
writeFileSync(join(folder, 'ed.pem'), pem(generateKeyPairSync('ed25519')))

const ACME = {
  name: 'acme_es',
  api_root: 'https://api.acme.example/open/',
  issuer: 'https://login.acme.example',
  client_id: 'bonded',
  private_key_file: 'ec.pem',
  flow: 'jwt-bearer',
  purpose: 'dpv:FraudPreventionAndDetection',
  number_prefixes: ['+34'],
}
const OTHER = {
  ...ACME,
  name: 'other',
  private_key_file: 'rsa.pem',
  flow: 'ciba',
  number_prefixes: ['+351'],
  key_id: 'k2',
  sim_swap_max_age_hours: 24,
}

// JSON is YAML too.
const fileOf = (document: unknown) => {
  const path = join(folder, 'carriers.yaml')
  writeFileSync(path, JSON.stringify(document))
  return path
}
const read = (document: unknown, environment: NodeJS.ProcessEnv = {}) =>
  readConfig({ ...environment, BONDED_CARRIERS: fileOf(document) })
const mistakesOf = (document: unknown, environment: NodeJS.ProcessEnv = {}) => {
  try {
    read(document, environment)
    return []
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    return failure.mistakes
  }
}

test('disables carrier checks without the setting', () => {
  assert.deepEqual(readConfig({}).carriers, [])
})

test('reads carriers with their defaults, and does not print a key', () => {
  const { carriers } = read({ carriers: [ACME, OTHER] })
  const seen = carriers.map(({ key, ...rest }) => ({ ...rest, key: key.asymmetricKeyType }))
  const { name, issuer, purpose } = ACME
  const both = { issuer, purpose, apiRoot: 'https://api.acme.example/open', clientId: 'bonded' }
  assert.deepEqual(seen, [
    {
      ...both,
      name,
      flow: 'jwt-bearer',
      keyId: undefined,
      numberPrefixes: ['+34'],
      simSwapMaxAgeHours: 240,
      key: 'ec',
    },
    {
      ...both,
      name: 'other',
      flow: 'ciba',
      keyId: 'k2',
      numberPrefixes: ['+351'],
      simSwapMaxAgeHours: 24,
      key: 'rsa',
    },
  ])
  const secret = EC_KEY.split('\n')[1] ?? ''
  assert.ok(
    secret.length > 20 &&
      !inspect(carriers, { depth: 9 }).includes(secret) &&
      !JSON.stringify(carriers).includes(secret),
  )
})

/** One wrong value for each member, or several. */
const WRONG: Readonly<Record<keyof typeof CARRIER_MEMBERS, readonly unknown[]>> = {
  name: ['Acme', '', 1, undefined],
  api_root: [
    'http://api.acme.example',
    'api.acme.example',
    'https://api.acme.example?x=1',
    'https://me@api.acme.example',
    undefined,
  ],
  issuer: ['http://login.acme.example', 'https://login.acme.example#x', undefined],
  client_id: ['', 'two words', undefined],
  private_key_file: ['missing.pem', 'weak.pem', 'ed.pem', 'carriers.yaml', '', undefined],
  key_id: ['', 1],
  flow: ['code', undefined],
  purpose: ['FraudPreventionAndDetection', 'dpv:One dpv:Two', undefined],
  number_prefixes: [[], ['34'], ['+'], ['+034'], '+34', undefined],
  sim_swap_max_age_hours: [0, 2401, 1.5, '240'],
}
for (const [member, values] of Object.entries(WRONG)) {
  test(`${member}: reports one mistake with the expected value`, () => {
    for (const value of values) {
      const mistakes = mistakesOf({ carriers: [{ ...ACME, [member]: value }] })
      assert.equal(
        mistakes.length,
        1,
        `${member} ${JSON.stringify(value)}: ${JSON.stringify(mistakes)}`,
      )
      assert.match(String(mistakes[0]?.setting), new RegExp(`carriers\\[0\\]\\.${member}$`))
      assert.equal(mistakes[0]?.expected, CARRIER_MEMBERS[member as keyof typeof CARRIER_MEMBERS])
    }
  })
}

test('does not print the private key that an operator gives instead of its path', () => {
  const secret = EC_KEY.split('\n')[1] ?? assert.fail()
  for (const value of [EC_KEY, [EC_KEY], { key: EC_KEY }]) {
    const mistakes = mistakesOf({ carriers: [{ ...ACME, private_key_file: value }] })
    assert.equal(mistakes.length, 1)
    assert.ok(!inspect(mistakes, { depth: 9 }).includes(secret), inspect(value))
  }
})

test('reports all mistakes of all carriers at once, with those of other settings', () => {
  const mistakes = mistakesOf(
    { carriers: [{ ...ACME, flow: 'x', phone: '1' }, { ...OTHER, issuer: 1 }, 'acme'] },
    { BONDED_PORT: 'eighty' },
  )
  assert.equal(mistakes.length, 5)
})

test('rejects two carriers with one name or one prefix', () => {
  assert.equal(mistakesOf({ carriers: [ACME, ACME] }).length, 2)
})

test('rejects a file that is missing or not a list of carriers', () => {
  for (const document of [
    {},
    [],
    { carriers: [] },
    { carriers: {} },
    { carriers: [ACME], more: 1 },
    'x',
  ]) {
    assert.equal(mistakesOf(document).length, 1, JSON.stringify(document))
  }
  assert.throws(
    () => readConfig({ BONDED_CARRIERS: join(folder, 'none.yaml') }),
    /BONDED_CARRIERS: .*a file that exists/,
  )
})

test('allows plain http for a local test carrier in a sandbox only', () => {
  const local = {
    carriers: [{ ...ACME, api_root: 'http://127.0.0.1:9091', issuer: 'http://localhost:9091' }],
  }
  assert.deepEqual(mistakesOf(local), [])
  const production = {
    BONDED_ENVIRONMENT: 'production',
    BONDED_PUBLIC_ORIGIN: 'https://bond.example',
    BONDED_ROOT_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64url')}`,
  }
  assert.equal(mistakesOf(local, production).length, 2)
})
