import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigError, readConfig } from '../../src/settings/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-reported-'))
after(() => rmSync(folder, { recursive: true }))
const fileOf = (name: string, content: unknown) => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const DIGEST = 'ab'.repeat(32)

function mistakesOf(variables: NodeJS.ProcessEnv) {
  try {
    readConfig(variables)
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    return [...failure.mistakes]
  }
  return assert.fail('the configuration is valid')
}

test('a file of phones is reported with the part and the member, and what they accept', () => {
  const apple = { team_id: 'A1B2C3D4E5', bundle_id: 'bank.example' }
  const android = { package: 'bank.example', certificate_digests: [DIGEST] }
  const NUMBERS =
    'a list of validation categories: 4 App Store, 2 TestFlight, 3 development, 5 enterprise'
  const DIGESTS = 'a list of SHA-256 digests of signing certificates, in hexadecimal'
  for (const [content, at, expected] of [
    [{ windows: [] }, 'windows', 'one of apple_apps, android_apps, android, webauthn'],
    [{ apple_apps: apple }, 'apple_apps', 'a list'],
    [
      { apple_apps: [apple, 'text'] },
      'apple_apps.1',
      'an entry of team_id, bundle_id, environments, categories, missing, bundle_versions',
    ],
    [
      { android_apps: [{ ...android, colour: 1 }] },
      'android_apps.0.colour',
      'one of package, certificate_digests',
    ],
    [{ webauthn: [] }, 'webauthn', 'an entry of packed_roots'],
    ...['A1B2C3D4E', 'A1B2C3D4E5F', 'a1b2c3d4e5', 1].map(
      (team_id) =>
        [
          { apple_apps: [{ ...apple, team_id }] },
          'apple_apps.0.team_id',
          'ten capital letters and digits',
        ] as const,
    ),
    ...['', 'a b', 'a'.repeat(156)].map(
      (bundle_id) =>
        [
          { apple_apps: [{ ...apple, bundle_id }] },
          'apple_apps.0.bundle_id',
          'a bundle id',
        ] as const,
    ),
    ...[['staging'], 'production'].map(
      (environments) =>
        [
          { apple_apps: [{ ...apple, environments }] },
          'apple_apps.0.environments',
          'a list of production and development; keys of development are sandbox keys',
        ] as const,
    ),
    ...[[-1], [1.5], ['4']].map(
      (categories) =>
        [{ apple_apps: [{ ...apple, categories }] }, 'apple_apps.0.categories', NUMBERS] as const,
    ),
    [
      { apple_apps: [{ ...apple, missing: 'reject' }] },
      'apple_apps.0.missing',
      'allow or refuse phones before iOS 27, which report no category',
    ],
    ...[
      '7.1',
      [7],
      { minimum: '1.2.3.4' },
      { minimum: '7', maximum: '8' },
      { minimum: '1.1234567890' },
    ].map(
      (bundle_versions) =>
        [
          { apple_apps: [{ ...apple, bundle_versions }] },
          'apple_apps.0.bundle_versions',
          'any, a list of versions, or minimum: a version',
        ] as const,
    ),
    ...['bank', '1bank.example', 'bank.example.'].map(
      (name) =>
        [
          { android_apps: [{ ...android, package: name }] },
          'android_apps.0.package',
          'a package name',
        ] as const,
    ),
    ...[[], ['ab'.repeat(31)], ['ab'.repeat(33)], [DIGEST, 'x'], DIGEST].map(
      (certificate_digests) =>
        [
          { android_apps: [{ ...android, certificate_digests }] },
          'android_apps.0.certificate_digests',
          DIGESTS,
        ] as const,
    ),
    ...['202600', '202613', 20261, '2026-01'].map(
      (min_patch_level) =>
        [
          { android: { min_patch_level } },
          'android.min_patch_level',
          'the oldest accepted security patch, as YYYYMM, or null',
        ] as const,
    ),
    ...[-1, 1.5, '5'].map(
      (user_authentication_within_seconds) =>
        [
          { android: { user_authentication_within_seconds } },
          'android.user_authentication_within_seconds',
          'seconds after unlocking during which the hardware may sign assertions, 0 to require the user each time, or null for no requirement',
        ] as const,
    ),
  ] as const)
    assert.deepEqual(
      mistakesOf({ BONDED_PHONES: fileOf('phones.json', content) }),
      [{ setting: `BONDED_PHONES: ${at}`, value: 'is not valid', expected }],
      JSON.stringify(content),
    )
  for (const name of ['BONDED_PHONES', 'BONDED_TEST_ROOTS'] as const) {
    const path = fileOf('wrong.json', '[]')
    const parts = name === 'BONDED_PHONES' ? 'android, webauthn' : 'roots'
    assert.deepEqual(mistakesOf({ [name]: path }), [
      {
        setting: name,
        value: JSON.stringify(path),
        expected: `a file of apple_apps, android_apps, ${parts}`,
      },
    ])
  }
})

test('the ends of what a file of phones accepts are read, and its apps open their links', () => {
  const DIGEST_2 = 'Cd:'.repeat(31) + 'eF'
  const path = fileOf('phones.json', {
    apple_apps: [
      { team_id: '0123456789', bundle_id: 'a'.repeat(155), bundle_versions: ['1', 'two'] },
      {
        team_id: 'A1B2C3D4E5',
        bundle_id: 'b.c-d',
        bundle_versions: { minimum: '123456789.2.3' },
        categories: [0],
      },
    ],
    android_apps: [
      { package: 'a.b', certificate_digests: [DIGEST, DIGEST_2] },
      { package: 'c.d_e.f2', certificate_digests: ['01'.repeat(32)] },
    ],
    android: { min_patch_level: '202612', user_authentication_within_seconds: 30 },
  })
  const { phones, appLinks } = readConfig({ BONDED_PHONES: path, BONDED_DATA_DIR: folder })
  assert.deepEqual(
    phones.apple.apps.map(({ appId, bundleVersions, categories }) => [
      appId,
      bundleVersions,
      categories,
    ]),
    [
      [`0123456789.${'a'.repeat(155)}`, { listed: ['1', 'two'] }, [4]],
      ['A1B2C3D4E5.b.c-d', { minimum: '123456789.2.3' }, [0]],
    ],
  )
  assert.deepEqual(phones.android.apps, [
    { package: 'a.b', certificateDigests: [DIGEST, `${'cd'.repeat(31)}ef`] },
    { package: 'c.d_e.f2', certificateDigests: ['01'.repeat(32)] },
  ])
  assert.deepEqual(
    [phones.android.minPatchLevel, phones.android.userAuthenticationWithinSeconds],
    [202_612, 30],
  )
  assert.deepEqual(appLinks, {
    apple: [`0123456789.${'a'.repeat(155)}`, 'A1B2C3D4E5.b.c-d'],
    android: [
      {
        packageName: 'a.b',
        certificateDigests: [
          Array(32).fill('AB').join(':'),
          [...Array<string>(31).fill('CD'), 'EF'].join(':'),
        ],
      },
      { packageName: 'c.d_e.f2', certificateDigests: [Array(32).fill('01').join(':')] },
    ],
  })
})

test('a file of carriers is reported with the member, its value and what it accepts', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  fileOf('ec.pem', String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
  const acme = {
    name: 'acme',
    api_root: 'https://api.acme.example',
    issuer: 'https://login.acme.example',
    client_id: 'bonded',
    private_key_file: 'ec.pem',
    flow: 'ciba',
    purpose: 'dpv:FraudPreventionAndDetection',
    number_prefixes: ['+34'],
  }
  const path = join(folder, 'carriers.yaml')
  const { name: _name, ...nameless } = acme
  for (const [carriers, setting, value, expected] of [
    [[{ ...acme, flow: 'code' }], 'carriers[0].flow', '"code"', 'ciba or jwt-bearer'],
    [
      [nameless],
      'carriers[0].name',
      'is not set',
      'a unique name: lower-case letters, digits, _ and -',
    ],
    [
      [{ ...acme, private_key_file: 'none.pem' }],
      'carriers[0].private_key_file',
      'is not valid',
      'a PEM file with the private key that signs requests: EC P-256, or RSA of 2048 bits or more; a relative path starts at the folder of this file',
    ],
    [
      [{ ...acme, phone: 1 }],
      'carriers[0].phone',
      'is set',
      'one of name, api_root, issuer, client_id, private_key_file, key_id, flow, purpose, number_prefixes, sim_swap_max_age_hours',
    ],
    [[acme, 'text'], 'carriers[1]', 'is not valid', 'a carrier'],
    [
      [acme, { ...acme, number_prefixes: ['+351'] }],
      'name',
      '"acme" twice',
      'a different name for each carrier',
    ],
    [
      [acme, { ...acme, name: 'other' }],
      'number_prefixes',
      '"+34" twice',
      'each prefix at one carrier only',
    ],
  ] as const)
    assert.deepEqual(mistakesOf({ BONDED_CARRIERS: fileOf('carriers.yaml', { carriers }) }), [
      { setting: `${path}: ${setting}`, value, expected },
    ])
  assert.deepEqual(mistakesOf({ BONDED_CARRIERS: fileOf('carriers.yaml', {}) }), [
    {
      setting: path,
      value: 'is not valid',
      expected: 'one member, `carriers`: a list of carriers',
    },
  ])
  const none = join(folder, 'none.yaml')
  assert.deepEqual(mistakesOf({ BONDED_CARRIERS: none }), [
    { setting: 'BONDED_CARRIERS', value: JSON.stringify(none), expected: 'a file that exists' },
  ])
  const ends = {
    name: `a${'_'.repeat(63)}`,
    client_id: 'c'.repeat(255),
    sim_swap_max_age_hours: 2_400,
  }
  const most = {
    ...acme,
    ...ends,
    purpose: `dpv:${'P'.repeat(64)}`,
    number_prefixes: ['+12345678901234', '+1'],
  }
  const [read] = readConfig({
    BONDED_CARRIERS: fileOf('carriers.yaml', { carriers: [most] }),
  }).carriers
  assert.deepEqual(
    [read?.name, read?.clientId, read?.simSwapMaxAgeHours, read?.purpose, read?.numberPrefixes],
    [ends.name, ends.client_id, 2_400, most.purpose, most.number_prefixes],
  )
  for (const more of [
    { name: `a${'_'.repeat(64)}` },
    { client_id: 'c'.repeat(256) },
    { purpose: `dpv:${'P'.repeat(65)}` },
    { number_prefixes: ['+123456789012345'] },
  ])
    assert.equal(
      mistakesOf({ BONDED_CARRIERS: fileOf('carriers.yaml', { carriers: [{ ...acme, ...more }] }) })
        .length,
      1,
      JSON.stringify(more),
    )
})
