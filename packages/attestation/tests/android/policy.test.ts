import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  der,
  encodeApplicationId,
  encodeRootOfTrust,
  honestDescription,
  type KeyDescriptionFields,
  SIMULATED_APP,
  type Tags,
} from '@bonded/simulator'
import type { AndroidPolicy } from '../../src/android/policy.ts'
import { APPS, AUTHORITY, CHALLENGE, describe, newKey, register, TRUSTED } from './chains.ts'
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
