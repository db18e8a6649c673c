import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  authority,
  certify,
  createAndroidAuthority,
  der,
  encodeApplicationId,
  encodeKeyDescription,
  encodeRootOfTrust,
  honestDescription,
  type KeyDescriptionFields,
  SIMULATED_APP,
  type Tags,
} from '@bonded/simulator'
import type { AndroidPolicy } from '../../src/android/policy.ts'
import {
  APP_ID,
  APPS,
  AUTHORITY,
  CHALLENGE,
  chainKeys,
  chainWith,
  DATES,
  describe,
  honestExtension,
  newKey,
  register,
  TRUSTED,
} from './chains.ts'
import { wordOf } from './trust.ts'

function without(tags: Tags, ...gone: number[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([tag]) => !gone.includes(Number(tag))))
}

const honestTags = honestDescription(CHALLENGE)
const { integer, setOf, octets, nothing, sequence, boolean, enumerated } = der
const digestOfAnother = Buffer.alloc(32, 9)
const belowZero = der.element(0x02, Buffer.of(0xff))
const bootOf = (state: number) => [
  octets(Buffer.alloc(32)),
  boolean(true),
  enumerated(state),
  octets(Buffer.alloc(32)),
]
/** A root of trust whose `deviceLocked` is a BOOLEAN of these bytes. */
const lockedAs = (value: Buffer) => sequence(...bootOf(0).with(1, der.element(0x01, value)))
const packageOf = (...more: Buffer[]) =>
  sequence(octets(SIMULATED_APP.package), integer(1), ...more)
const simulatedPackage = packageOf()
const signer = setOf(octets(SIMULATED_APP.certificateDigest))
const honestApp = encodeApplicationId([SIMULATED_APP.package], [SIMULATED_APP.certificateDigest])

/** A start of an owner's system whose boot key is configured. */
const startOf = (state: number, verdict: string): Description => [
  `an owner’s system that is configured, in state ${state}`,
  describe({}, { 704: encodeRootOfTrust({ locked: true, state, bootKey: Buffer.alloc(32, 7) }) }),
  verdict,
  { ownerBootKeys: new Set(['07'.repeat(32)]) },
]

/** What a phone says; and the verdict: a device of an environment, or the step that refuses. */
type Description = readonly [
  what: string,
  said: KeyDescriptionFields,
  verdict: string,
  policy?: Partial<AndroidPolicy>,
]

const DESCRIPTIONS: readonly Description[] = [
  ['an honest phone', describe(), 'production'],
  ['a StrongBox', describe({ securityLevel: 2, keyMintSecurityLevel: 2 }), 'production'],
  ['Keymaster 4', describe({ attestationVersion: 4 }), 'production'],
  ['a version that does not exist', describe({ attestationVersion: 301 }), 'key_description'],
  ['another challenge', describe({ challenge: Buffer.alloc(32, 6) }), 'challenge'],
  [
    'a longer challenge',
    describe({ challenge: Buffer.concat([CHALLENGE, Buffer.of(0)]) }),
    'challenge',
  ],
  [
    'a keystore in software',
    describe({
      securityLevel: 0,
      keyMintSecurityLevel: 0,
      softwareEnforced: { ...honestTags.hardwareEnforced, ...honestTags.softwareEnforced },
    }),
    'sandbox',
  ],
  [
    'software that only speaks of hardware',
    describe({ securityLevel: 0, keyMintSecurityLevel: 0 }),
    'origin',
  ],
  [
    'hardware vouching for a key in software',
    describe({ keyMintSecurityLevel: 0 }),
    'security_level',
  ],
  ['StrongBox vouching for a key outside', describe({ securityLevel: 2 }), 'security_level'],
  [
    'a level that does not exist',
    describe({ securityLevel: 3, keyMintSecurityLevel: 3 }),
    'security_level',
  ],
  ['an imported key', describe({}, { 702: integer(2) }), 'origin'],
  [
    'a key without origin',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 702) }),
    'origin',
  ],
  [
    'an origin in the software list only',
    describe(
      { hardwareEnforced: without(honestTags.hardwareEnforced, 702) },
      {},
      { 702: integer(0) },
    ),
    'origin',
  ],
  ['a key that also attests keys', describe({}, { 1: setOf(integer(2), integer(7)) }), 'purpose'],
  ['a key that only verifies', describe({}, { 1: setOf(integer(3)) }), 'purpose'],
  [
    'a key that signs and verifies',
    describe({}, { 1: setOf(integer(3), integer(2)) }),
    'production',
  ],
  ['an RSA key', describe({}, { 2: integer(1) }), 'key_algorithm'],
  ['another curve', describe({}, { 10: integer(2) }), 'key_algorithm'],
  ['a key of another size', describe({}, { 3: integer(384) }), 'key_algorithm'],
  [
    'a key of an algorithm nobody names',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 2) }),
    'key_algorithm',
  ],
  [
    'a key that only says its algorithm',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 3, 10) }),
    'production',
  ],
  [
    'a key for no purpose',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 1) }),
    'purpose',
  ],
  [
    'a key without digests',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 5) }),
    'digest',
  ],
  ['a key without SHA-256', describe({}, { 5: setOf(integer(0)) }), 'digest'],
  ['a key for all apps', describe({}, { 600: nothing() }), 'all_applications'],
  [
    'a key for all apps, in the software list',
    describe({}, {}, { 600: nothing() }),
    'all_applications',
  ],
  [
    'no app',
    describe({ softwareEnforced: without(honestTags.softwareEnforced, 709) }),
    'application_id',
  ],
  [
    'the app in the hardware list',
    describe(
      { softwareEnforced: {} },
      {
        709: octets(
          encodeApplicationId([SIMULATED_APP.package], [SIMULATED_APP.certificateDigest]),
        ),
      },
    ),
    'application_id',
  ],
  [
    'another app',
    describe(
      {},
      {},
      { 709: octets(encodeApplicationId(['org.bonded.other'], [SIMULATED_APP.certificateDigest])) },
    ),
    'application_id',
  ],
  [
    'our package signed by another',
    describe(
      {},
      {},
      { 709: octets(encodeApplicationId([SIMULATED_APP.package], [digestOfAnother])) },
    ),
    'application_id',
  ],
  [
    'our package signed by us and another',
    describe(
      {},
      {},
      {
        709: octets(
          encodeApplicationId(
            [SIMULATED_APP.package],
            [SIMULATED_APP.certificateDigest, digestOfAnother],
          ),
        ),
      },
    ),
    'application_id',
  ],
  [
    'our package sharing its keys with another',
    describe(
      {},
      {},
      {
        709: octets(
          encodeApplicationId(
            [SIMULATED_APP.package, 'org.bonded.other'],
            [SIMULATED_APP.certificateDigest],
          ),
        ),
      },
    ),
    'application_id',
  ],
  [
    'two packages of ours that share their keys',
    describe(
      {},
      {},
      {
        709: octets(
          encodeApplicationId(
            [SIMULATED_APP.package, 'org.bonded.other'],
            [SIMULATED_APP.certificateDigest],
          ),
        ),
      },
    ),
    'production',
    { apps: [...APPS, ...APPS.map((app) => ({ ...app, package: 'org.bonded.other' }))] },
  ],
  [
    'our package without a signer',
    describe({}, {}, { 709: octets(encodeApplicationId([SIMULATED_APP.package], [])) }),
    'application_id',
  ],
  [
    'a signer without a package',
    describe({}, {}, { 709: octets(encodeApplicationId([], [SIMULATED_APP.certificateDigest])) }),
    'application_id',
  ],
  ['a patch of the month asked for', describe(), 'production', { minPatchLevel: 202_610 }],
  ['an older patch than asked for', describe(), 'patch_level', { minPatchLevel: 202_611 }],
  [
    'no patch level where one is asked for',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 706) }),
    'patch_level',
    { minPatchLevel: 202_001 },
  ],
  [
    'a patch level with its day',
    describe({}, { 706: integer(20_261_005) }),
    'production',
    { minPatchLevel: 202_610 },
  ],
  [
    'a patch level that is no month',
    describe({}, { 706: integer(209_913) }),
    'patch_level',
    { minPatchLevel: 202_001 },
  ],
  [
    'a key that asks for nobody',
    describe(),
    'user_authentication',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key that asks each time',
    describe({
      hardwareEnforced: { ...without(honestTags.hardwareEnforced, 503), 504: integer(2) },
    }),
    'production',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key that asks once in a while',
    describe({
      hardwareEnforced: {
        ...without(honestTags.hardwareEnforced, 503),
        504: integer(2),
        505: integer(60),
      },
    }),
    'user_authentication',
    { userAuthenticationWithinSeconds: 30 },
  ],
  [
    'a key that says nothing of the person',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 503) }),
    'user_authentication',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key that asked before it was there',
    describe({
      hardwareEnforced: {
        ...without(honestTags.hardwareEnforced, 503),
        504: integer(2),
        505: belowZero,
      },
    }),
    'user_authentication',
    { userAuthenticationWithinSeconds: 30 },
  ],
  [
    'a key that says both',
    describe({}, { 504: integer(2) }),
    'user_authentication',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'an unlocked phone',
    describe({}, { 704: encodeRootOfTrust({ locked: false, state: 2 }) }),
    'sandbox',
  ],
  [
    'an unlocked phone that says verified',
    describe({}, { 704: encodeRootOfTrust({ locked: false, state: 0 }) }),
    'sandbox',
  ],
  [
    'a start that failed',
    describe({}, { 704: encodeRootOfTrust({ locked: true, state: 3 }) }),
    'sandbox',
  ],
  [
    'no word on the start',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 704) }),
    'sandbox',
  ],
  [
    'software’s word on the start',
    describe(
      { hardwareEnforced: without(honestTags.hardwareEnforced, 704) },
      {},
      { 704: encodeRootOfTrust({ locked: true, state: 0 }) },
    ),
    'sandbox',
  ],
  [
    'an owner’s system',
    describe({}, { 704: encodeRootOfTrust({ locked: true, state: 1 }) }),
    'sandbox',
  ],
  startOf(1, 'production'),
  ...[2, 3].map((state) => startOf(state, 'sandbox')),
  [
    'an owner’s system that is configured, unlocked',
    describe({}, { 704: encodeRootOfTrust({ locked: false, state: 1 }) }),
    'sandbox',
    { ownerBootKeys: new Set(['07'.repeat(32)]) },
  ],
  // Recorded phones write it so, and Google's own parser reads it as true.
  ['a locked flag of 0x01', describe({}, { 704: lockedAs(Buffer.of(1)) }), 'production'],
  ['a locked flag of 0x80', describe({}, { 704: lockedAs(Buffer.of(0x80)) }), 'production'],
  ['a locked flag of 0x00', describe({}, { 704: lockedAs(Buffer.of(0)) }), 'sandbox'],
  [
    'a locked flag of two bytes',
    describe({}, { 704: lockedAs(Buffer.of(0xff, 0xff)) }),
    'key_description',
  ],
  [
    'a locked flag without a value',
    describe({}, { 704: lockedAs(Buffer.alloc(0)) }),
    'key_description',
  ],
  // Another reader might read on: what stands after the last known part must not be passed over.
  [
    'a start with a word too many',
    describe({}, { 704: sequence(...bootOf(0), nothing()) }),
    'key_description',
  ],
  [
    'a start with a word too few',
    describe({}, { 704: sequence(...bootOf(0).slice(0, 2)) }),
    'key_description',
  ],
  [
    'a start of Keymaster 2, without a hash',
    describe({}, { 704: sequence(...bootOf(0).slice(0, 3)) }),
    'production',
  ],
  [
    'a state of the start that does not exist',
    describe({}, { 704: sequence(...bootOf(4)) }),
    'sandbox',
  ],
  [
    'an app that says one more thing of itself',
    describe({}, {}, { 709: octets(sequence(setOf(simulatedPackage), signer, nothing())) }),
    'key_description',
  ],
  [
    'a package of three parts',
    describe({}, {}, { 709: octets(sequence(setOf(packageOf(nothing())), signer)) }),
    'key_description',
  ],
  [
    'an app followed by another',
    describe({}, {}, { 709: octets(Buffer.concat([honestApp, honestApp])) }),
    'key_description',
  ],
  [
    'an app that is written out by parts',
    describe({}, {}, { 709: octets(sequence(setOf(simulatedPackage), signer)) }),
    'production',
  ],
  [
    'a tag with two values',
    describe({}, { 702: Buffer.concat([integer(0), integer(0)]) }),
    'key_description',
  ],
  ['a tag without a value', describe({}, { 702: Buffer.alloc(0) }), 'key_description'],
  ['a tag nobody knows', describe({}, { 725: nothing() }), 'key_description'],
  ['a flag with a value', describe({}, { 503: boolean(true) }), 'key_description'],
]

for (const [what, said, verdict, policy] of DESCRIPTIONS) {
  test(`android-key: ${what}: ${verdict}`, async () => {
    const registered = await register(AUTHORITY.attest(newKey().publicKey, said), {
      ...TRUSTED,
      ...policy,
    })
    assert.equal(registered.ok ? registered.value.environment : wordOf(registered), verdict)
  })
}

test('android-key: a key under a test root is a sandbox device, whatever it says', async () => {
  const { publicKey } = newKey()
  const registered = await register(AUTHORITY.attest(publicKey, describe()), {
    testRoots: new Set([AUTHORITY.rootKeyDigest]),
    apps: APPS,
  })
  assert.ok(registered.ok)
  assert.equal(registered.value.environment, 'sandbox')
  assert.equal(registered.value.appId, APP_ID)
  assert.deepEqual(registered.value.publicKey, publicKey.export({ format: 'der', type: 'spki' }))
})

test('android-key: without configuration nobody but Google is a root', async () => {
  assert.equal(
    wordOf(await register(AUTHORITY.attest(newKey().publicKey, describe()), { apps: APPS })),
    'root',
  )
})

test('android-key: an RSA key that is described as P-256 is refused', async () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  assert.equal(wordOf(await register(AUTHORITY.attest(publicKey, describe()))), 'key_algorithm')
})

test('android-key: descriptions with tags out of order, twice, or padded are refused', async () => {
  const honest = encodeKeyDescription(describe())
  const swap = (one: Buffer, other: Buffer) => {
    const at = honest.indexOf(Buffer.concat([one, other]))
    assert.ok(at > 0)
    return Buffer.concat([
      honest.subarray(0, at),
      other,
      one,
      honest.subarray(at + one.length + other.length),
    ])
  }
  const outOfOrder = swap(der.explicit(705, integer(160_000)), der.explicit(706, integer(202_610)))
  const twice = Buffer.from(honest)
  const [first, second] = [der.explicit(705, integer(160_000)), der.explicit(706, integer(202_610))]
  first.copy(twice, honest.indexOf(second))
  for (const value of [
    outOfOrder,
    twice,
    Buffer.concat([honest, Buffer.of(0)]),
    honest.subarray(0, -1),
  ]) {
    assert.equal(wordOf(await register(chainWith(value))), 'key_description')
  }
})

test('android-key: a genuine chain that an attacker extends with a key of his own is refused', async () => {
  const { root, attestation, leaf, key } = chainKeys()
  const genuine = certify({ ...leaf, extensions: [honestExtension] })
  const mine = newKey()
  const forge = (extensions: Parameters<typeof certify>[0]['extensions']) =>
    certify({
      ...leaf,
      issuer: leaf.subject,
      subject: [['commonName', 'mine']],
      publicKey: mine.publicKey,
      issuerKey: key,
      extensions,
    })
  assert.equal(
    wordOf(await register([forge([honestExtension]), genuine, attestation, root])),
    'key_description_elsewhere',
  )
  assert.equal(
    wordOf(await register([forge([]), genuine, attestation, root])),
    'key_description_missing',
  )
  // Even a leaf without a description of its own is no authority.
  const plain = certify({ ...leaf, extensions: [] })
  assert.equal(
    wordOf(await register([forge([honestExtension]), plain, attestation, root])),
    'issuer_not_ca',
  )
})

test('android-key: certificates put in at the factory outlive their dates, remotely provisioned ones do not', async () => {
  const expired = { notAfter: new Date('2026-11-21T09:29:59Z') }
  const remote = [
    ['organization', 'Google LLC'],
    ['commonName', 'Droid CA2'],
  ] as const
  const attested = (attestation: Partial<Parameters<typeof certify>[0]>) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation })))
  assert.equal(wordOf(await attested(expired)), 'ok')
  assert.equal(wordOf(await attested({ subject: remote })), 'ok')
  assert.equal(wordOf(await attested({ subject: remote, ...expired })), 'validity')
  assert.equal(
    wordOf(await attested({ subject: [...remote, ['serialNumber', 'aa']], ...expired })),
    'validity',
  )
  assert.equal(
    wordOf(await attested({ subject: [['commonName', 'somebody']], ...expired })),
    'validity',
  )
  assert.equal(wordOf(await attested({ notBefore: new Date('2026-11-21T09:30:01Z') })), 'validity')
})

test('android-key: an authority that may not issue, not so deep, or demands what nobody knows, is refused', async () => {
  const subject = [
    ['organization', 'Google LLC'],
    ['commonName', 'Droid CA2'],
  ] as const
  const attested = (extensions: Parameters<typeof certify>[0]['extensions']) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation: { subject, extensions } })))
  assert.equal(wordOf(await attested([])), 'issuer_not_ca')
  assert.equal(wordOf(await attested([authority(0)])), 'ok')
  assert.equal(wordOf(await attested([authority(), onlySigns])), 'issuer_not_ca')
  assert.equal(
    wordOf(
      await attested([
        authority(),
        { id: '2.5.29.15', value: der.element(0x03, Buffer.of(2, 0x04)) },
      ]),
    ),
    'ok',
  )
  assert.equal(
    wordOf(await attested([authority(), { id: '1.2.3.4', critical: true, value: nothing() }])),
    'critical_extension',
  )
  assert.equal(wordOf(await attested([authority(), { id: '1.2.3.4', value: nothing() }])), 'ok')
})

const onlySigns = { id: '2.5.29.15', value: der.element(0x03, Buffer.of(7, 0x80)) }

test('android-key: an attestation key from the factory may be none that calls itself an authority, if nobody could have made it one', async () => {
  const attested = (attestation: Partial<Parameters<typeof certify>[0]>) =>
    register(chainWith(honestExtension.value, chainKeys({ attestation })))
  assert.equal(wordOf(await attested({ extensions: [onlySigns] })), 'ok')
  assert.equal(
    wordOf(await attested({ extensions: [onlySigns, honestExtension] })),
    'key_description_elsewhere',
  )
  assert.equal(
    wordOf(
      await attested({
        extensions: [onlySigns],
        subject: [['commonName', 'mine']],
        notAfter: DATES.notAfter,
      }),
    ),
    'issuer_not_ca',
  )
  // Above it, who issues must be allowed to.
  const { root, attestation, leaf } = chainKeys({ attestation: { extensions: [onlySigns] } })
  const key = newKey().privateKey
  const subject = [['serialNumber', 'bb']] as const
  const above = certify({ ...leaf, subject, publicKey: key, extensions: [authority()] })
  const below = certify({ ...leaf, issuer: subject, issuerKey: key, extensions: [honestExtension] })
  assert.equal(wordOf(await register([below, above, attestation, root])), 'issuer_not_ca')
})

test('android-key: a chain below an authority that may have none below it is refused', async () => {
  const key = newKey().privateKey
  const name = [['commonName', 'shallow root']] as const
  const common = {
    serial: 1n,
    subject: name,
    issuer: name,
    publicKey: key,
    issuerKey: key,
    ...DATES,
  }
  const policy = { ...TRUSTED, roots: new Set([createAndroidAuthority(key).rootKeyDigest]) }
  const below = (root: Buffer) => {
    const { attestation, leaf } = chainKeys({ attestation: { issuer: name, issuerKey: key } })
    return register(
      [certify({ ...leaf, extensions: [honestExtension] }), attestation, root],
      policy,
    )
  }
  assert.equal(wordOf(await below(certify({ ...common, extensions: [authority(1)] }))), 'ok')
  assert.equal(
    wordOf(await below(certify({ ...common, extensions: [authority(0)] }))),
    'path_length',
  )
})

test('android-key: a signature under another name than the issuer’s is refused', async () => {
  const { root, attestation, leaf } = chainKeys()
  const misnamed = certify({
    ...leaf,
    issuer: [['serialNumber', 'ab']],
    extensions: [honestExtension],
  })
  assert.equal(wordOf(await register([misnamed, attestation, root])), 'issuer_name')
})

test('android-key: swapped, cut, doubled, reordered and lengthened chains are refused', async () => {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  const stranger = createAndroidAuthority().attest(newKey().publicKey, describe())
  assert.equal(wordOf(await register(chain)), 'ok')
  const orders = permutations([0, 1, 2, 3]).filter((order) => order.join() !== '0,1,2,3')
  const bent = [
    [],
    ...chain.map((_, at) => chain.slice(0, at)),
    ...chain.map((_, at) => chain.toSpliced(at, 1)),
    ...chain.map((one, at) => chain.toSpliced(at, 0, one)),
    ...chain.map((_, at) => chain.with(at, stranger[at] ?? Buffer.alloc(0))),
    ...chain.map((_, at) => chain.toSpliced(at, 0, stranger[at] ?? Buffer.alloc(0))),
    ...chain.map((one, at) => chain.with(at, Buffer.concat([one, Buffer.of(0)]))),
    ...orders.map((order) => order.map((at) => chain[at] ?? Buffer.alloc(0))),
    [...chain, ...stranger],
    [...chain, chain[3] ?? Buffer.alloc(0), chain[3] ?? Buffer.alloc(0)],
  ]
  for (const one of bent) assert.notEqual(wordOf(await register(one)), 'ok')
})

test('android-key: the serial numbers of the chain come back for the revocation check, but for those under a test root', async () => {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  const registered = await register(chain)
  assert.deepEqual(registered.ok && registered.value.serials, ['1', '3', '2', '1'])
  const testRoots = new Set([AUTHORITY.rootKeyDigest])
  const sandbox = await register(chain, { testRoots, apps: APPS })
  assert.deepEqual(sandbox.ok && sandbox.value.serials, [])
})

test('the simulated phone writes keys that Node reads', () => {
  const key = newKey()
  const [leaf] = AUTHORITY.attest(key.publicKey, describe())
  const pem = `-----BEGIN CERTIFICATE-----\n${leaf?.toString('base64')}\n-----END CERTIFICATE-----`
  assert.ok(createPublicKey(pem).equals(key.publicKey))
})

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  )
}
