import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  createAuthenticatorAuthority,
  createAppAttestAuthority,
  pemOf,
  loadTestAuthority,
} from '@bonded/simulator'
import { GOOGLE_ROOTS } from '@bonded/attestation/android'
import { NO_APPS } from '../../src/adapters/attestation/phone-trust.ts'
import { ConfigError, readConfig } from '../../src/settings/config.ts'

const ROOT = createAppAttestAuthority(Date.parse('2026-11-21T09:30:00.000Z')).root
const MAKER = pemOf(createAuthenticatorAuthority(Buffer.alloc(16)).root)
const DIGEST = Array(32).fill('AB').join(':')

const newFolder = () => mkdtempSync(join(tmpdir(), 'bonded-phones-'))
const fileOf = (content: unknown, name = 'phones.json') => {
  const path = join(newFolder(), name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const mistakesOf = (environment: NodeJS.ProcessEnv): string[] => {
  try {
    readConfig(environment)
    return []
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    return failure.mistakes.map(({ setting }) => setting).sort()
  }
}

test('accepts no app without a file', () => {
  assert.deepEqual(readConfig({ BONDED_DATA_DIR: '/nowhere' }).phones, NO_APPS)
})

test('a sandbox trusts the vendors of the simulated phone in its data folder', () => {
  const BONDED_DATA_DIR = newFolder()
  loadTestAuthority(BONDED_DATA_DIR)
  const { apple, android } = readConfig({ BONDED_DATA_DIR }).phones
  assert.deepEqual(
    [apple.apps.length, apple.testRoots.length, android.apps.length, android.testRoots.size],
    [1, 1, 1, 1],
  )
  const production = {
    BONDED_ENVIRONMENT: 'production',
    BONDED_PUBLIC_ORIGIN: 'https://bond.example',
    BONDED_ROOT_KEYS: `k1:${'A'.repeat(43)}`,
  }
  assert.deepEqual(readConfig({ ...production, BONDED_DATA_DIR }).phones, NO_APPS)
})

test('reads apps and their requirements from a file, with defaults', () => {
  const yaml = `
apple_apps:
  - team_id: TEAM123456
    bundle_id: example.bank
  - { team_id: TEAM123456, bundle_id: example.beta, environments: [development], categories: [2, 3], missing: refuse, bundle_versions: { minimum: "7.1" } }
android_apps:
  - package: example.bank
    certificate_digests: ["${DIGEST}"]
android:
  min_patch_level: 202601
  owner_boot_keys: ["${DIGEST}"]
  user_authentication_within_seconds: 0
`
  const { apple, android } = readConfig({
    BONDED_DATA_DIR: newFolder(),
    BONDED_PHONES: fileOf(yaml, 'phones.yaml'),
  }).phones
  const [bank, beta] = apple.apps
  assert.deepEqual(bank, {
    appId: 'TEAM123456.example.bank',
    environments: ['production'],
    categories: [4],
    missing: 'allow',
    bundleVersions: 'any',
  })
  assert.deepEqual(beta, {
    appId: 'TEAM123456.example.beta',
    environments: ['development'],
    categories: [2, 3],
    missing: 'refuse',
    bundleVersions: { minimum: '7.1' },
  })
  assert.deepEqual(android, {
    apps: [{ package: 'example.bank', certificateDigests: ['ab'.repeat(32)] }],
    roots: GOOGLE_ROOTS,
    testRoots: new Set(),
    minPatchLevel: 202_601,
    ownerBootKeys: new Set(['ab'.repeat(32)]),
    userAuthenticationWithinSeconds: 0,
  })
})

test('roots are certificates: more of them for Android, makers for webauthn, and test roots apart from both', () => {
  const phones = { android: { extra_roots: [ROOT] }, webauthn: { packed_roots: [MAKER] } }
  const BONDED_TEST_ROOTS = fileOf({ roots: { apple: [ROOT], android: [MAKER], webauthn: [ROOT] } })
  const { apple, android, webauthn } = readConfig({
    BONDED_PHONES: fileOf(phones),
    BONDED_TEST_ROOTS,
  }).phones
  assert.deepEqual([android.roots.size, android.testRoots.size], [GOOGLE_ROOTS.size + 1, 1])
  assert.ok(
    [...android.testRoots].every((root) => /^[0-9a-f]{64}$/.test(root) && !android.roots.has(root)),
  )
  assert.deepEqual(
    [apple.testRoots, webauthn],
    [[ROOT], { packedRoots: [MAKER], testRoots: [ROOT] }],
  )
})

test('reports every mistake of both files at once, with its location', () => {
  const phones = {
    apple_apps: [
      { team_id: 'short', bundle_id: 'example.bank', categories: 4, colour: 'red' },
      'text',
    ],
    android_apps: { package: 'example.bank' },
    android: { min_patch_level: 202_613, extra_roots: ['no certificate'] },
    windows_apps: [],
  }
  const settings = {
    BONDED_PORT: 'x',
    BONDED_PHONES: fileOf(phones),
    BONDED_TEST_ROOTS: fileOf({ roots: { apple: ['-----BEGIN CERTIFICATE-----'] } }),
  }
  assert.deepEqual(mistakesOf(settings), [
    'BONDED_PHONES: android.extra_roots',
    'BONDED_PHONES: android.min_patch_level',
    'BONDED_PHONES: android_apps',
    'BONDED_PHONES: apple_apps.0.categories',
    'BONDED_PHONES: apple_apps.0.colour',
    'BONDED_PHONES: apple_apps.0.team_id',
    'BONDED_PHONES: apple_apps.1',
    'BONDED_PHONES: windows_apps',
    'BONDED_PORT',
    'BONDED_TEST_ROOTS: roots.apple',
  ])
  for (const BONDED_PHONES of [
    '/nowhere/phones.yaml',
    fileOf('{', 'phones.json'),
    fileOf('a: [', 'phones.yaml'),
    fileOf('- a', 'phones.yaml'),
  ]) {
    assert.deepEqual(mistakesOf({ BONDED_PHONES }), ['BONDED_PHONES'], BONDED_PHONES)
  }
})

test('a service in production does not start with test roots', () => {
  const production = {
    BONDED_ENVIRONMENT: 'production',
    BONDED_PUBLIC_ORIGIN: 'https://bond.example',
    BONDED_ROOT_KEYS: `k1:${'A'.repeat(43)}`,
  }
  assert.deepEqual(mistakesOf(production), [])
  assert.deepEqual(mistakesOf({ ...production, BONDED_TEST_ROOTS: fileOf({}) }), [
    'BONDED_TEST_ROOTS',
  ])
})
