import { der, encodeRootOfTrust } from '@bonded/simulator'
import { describe } from './chains.ts'
import {
  without,
  honestTags,
  belowZero,
  bootOf,
  lockedAs,
  packageOf,
  simulatedPackage,
  signer,
  honestApp,
  customBoot,
  testDescriptions,
} from './descriptions.ts'

const { integer, setOf, octets, nothing, sequence, boolean } = der

testDescriptions([
  ['a patch of the minimum month', describe(), 'production', { minPatchLevel: 202_610 }],
  ['a patch older than the minimum', describe(), 'patch_level', { minPatchLevel: 202_611 }],
  [
    'a missing patch level when the policy has a minimum',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 706) }),
    'patch_level',
    { minPatchLevel: 202_001 },
  ],
  [
    'a patch level with a day',
    describe({}, { 706: integer(20_261_005) }),
    'production',
    { minPatchLevel: 202_610 },
  ],
  [
    'a patch level with an invalid month',
    describe({}, { 706: integer(209_913) }),
    'patch_level',
    { minPatchLevel: 202_001 },
  ],
  ...[209_900, 1_209_912, 2_099_121, 209_912_011].map(
    (level) =>
      [
        `the patch level ${level}, which is not a date`,
        describe({}, { 706: integer(level) }),
        'patch_level',
        { minPatchLevel: 202_001 },
      ] as const,
  ),
  [
    'a key without user authentication when the policy requires it',
    describe(),
    'user_authentication',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key with user authentication for each signature',
    describe({
      hardwareEnforced: { ...without(honestTags.hardwareEnforced, 503), 504: integer(2) },
    }),
    'production',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key whose authentication timeout exceeds the policy',
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
    'a key that does not state user authentication',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 503) }),
    'user_authentication',
    { userAuthenticationWithinSeconds: 0 },
  ],
  [
    'a key with a negative authentication timeout',
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
    'a key with both user authentication and noAuthRequired',
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
    'an unlocked phone with a verified boot state',
    describe({}, { 704: encodeRootOfTrust({ locked: false, state: 0 }) }),
    'sandbox',
  ],
  [
    'a failed boot',
    describe({}, { 704: encodeRootOfTrust({ locked: true, state: 3 }) }),
    'sandbox',
  ],
  [
    'a missing root of trust',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 704) }),
    'sandbox',
  ],
  [
    'a root of trust in the software list',
    describe(
      { hardwareEnforced: without(honestTags.hardwareEnforced, 704) },
      {},
      { 704: encodeRootOfTrust({ locked: true, state: 0 }) },
    ),
    'sandbox',
  ],
  [
    'a custom system that is not configured',
    describe({}, { 704: encodeRootOfTrust({ locked: true, state: 1 }) }),
    'sandbox',
  ],
  customBoot(1, 'production'),
  ...[2, 3].map((state) => customBoot(state, 'sandbox')),
  [
    'a configured custom system on an unlocked phone',
    describe({}, { 704: encodeRootOfTrust({ locked: false, state: 1 }) }),
    'sandbox',
    { ownerBootKeys: new Set(['07'.repeat(32)]) },
  ],
  // Recorded phones write 0x01, and Google's own parser reads it as true.
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
  // Another parser might read elements after the last known one, so they are rejected.
  [
    'a root of trust with an additional element',
    describe({}, { 704: sequence(...bootOf(0), nothing()) }),
    'key_description',
  ],
  [
    'a root of trust with a missing element',
    describe({}, { 704: sequence(...bootOf(0).slice(0, 2)) }),
    'key_description',
  ],
  [
    'a root of trust of Keymaster 2, without a boot hash',
    describe({}, { 704: sequence(...bootOf(0).slice(0, 3)) }),
    'production',
  ],
  ['an unknown boot state', describe({}, { 704: sequence(...bootOf(4)) }), 'sandbox'],
  [
    'an application id with an additional element',
    describe({}, {}, { 709: octets(sequence(setOf(simulatedPackage), signer, nothing())) }),
    'key_description',
  ],
  [
    'a package with an additional element',
    describe({}, {}, { 709: octets(sequence(setOf(packageOf(nothing())), signer)) }),
    'key_description',
  ],
  [
    'two concatenated application ids',
    describe({}, {}, { 709: octets(Buffer.concat([honestApp, honestApp])) }),
    'key_description',
  ],
  [
    'an application id that is encoded element by element',
    describe({}, {}, { 709: octets(sequence(setOf(simulatedPackage), signer)) }),
    'production',
  ],
  [
    'a tag with two values',
    describe({}, { 702: Buffer.concat([integer(0), integer(0)]) }),
    'key_description',
  ],
  ['a tag without a value', describe({}, { 702: Buffer.alloc(0) }), 'key_description'],
  ['an unknown tag', describe({}, { 725: nothing() }), 'key_description'],
  ['a flag with a value', describe({}, { 503: boolean(true) }), 'key_description'],
])
