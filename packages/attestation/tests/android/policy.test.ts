import { der, encodeApplicationId, SIMULATED_APP } from '@bonded/simulator'
import { APPS, CHALLENGE, describe } from './chains.ts'
import { without, honestTags, digestOfAnother, testDescriptions } from './descriptions.ts'

const { integer, setOf, octets, nothing } = der

testDescriptions([
  ['a genuine phone', describe(), 'production'],
  ['a StrongBox key', describe({ securityLevel: 2, keyMintSecurityLevel: 2 }), 'production'],
  ['a Keymaster 4 key', describe({ attestationVersion: 4 }), 'production'],
  ['an unknown attestation version', describe({ attestationVersion: 301 }), 'key_description'],
  ['another challenge', describe({ challenge: Buffer.alloc(32, 6) }), 'challenge'],
  [
    'a longer challenge',
    describe({ challenge: Buffer.concat([CHALLENGE, Buffer.of(0)]) }),
    'challenge',
  ],
  [
    'a software keystore',
    describe({
      securityLevel: 0,
      keyMintSecurityLevel: 0,
      softwareEnforced: { ...honestTags.hardwareEnforced, ...honestTags.softwareEnforced },
    }),
    'sandbox',
  ],
  [
    'a software level with a description in the hardware list',
    describe({ securityLevel: 0, keyMintSecurityLevel: 0 }),
    'origin',
  ],
  [
    'a hardware attestation of a software key',
    describe({ keyMintSecurityLevel: 0 }),
    'security_level',
  ],
  [
    'a StrongBox attestation of a key outside StrongBox',
    describe({ securityLevel: 2 }),
    'security_level',
  ],
  [
    'an unknown security level',
    describe({ securityLevel: 3, keyMintSecurityLevel: 3 }),
    'security_level',
  ],
  ['an imported key', describe({}, { 702: integer(2) }), 'origin'],
  [
    'a key without an origin',
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
  [
    'a key that may attest other keys',
    describe({}, { 1: setOf(integer(2), integer(7)) }),
    'purpose',
  ],
  ['a key that may only verify', describe({}, { 1: setOf(integer(3)) }), 'purpose'],
  [
    'a key that may sign and verify',
    describe({}, { 1: setOf(integer(3), integer(2)) }),
    'production',
  ],
  ['an RSA key', describe({}, { 2: integer(1) }), 'key_algorithm'],
  ['a key on another curve', describe({}, { 10: integer(2) }), 'key_algorithm'],
  ['a key of another size', describe({}, { 3: integer(384) }), 'key_algorithm'],
  [
    'a key without an algorithm',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 2) }),
    'key_algorithm',
  ],
  [
    'a key with an algorithm and no size or curve',
    describe({ hardwareEnforced: without(honestTags.hardwareEnforced, 3, 10) }),
    'production',
  ],
  [
    'a key without purposes',
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
    'a key for all apps in the software list',
    describe({}, {}, { 600: nothing() }),
    'all_applications',
  ],
  [
    'a key without an app',
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
    'the accepted package with another signer',
    describe(
      {},
      {},
      { 709: octets(encodeApplicationId([SIMULATED_APP.package], [digestOfAnother])) },
    ),
    'application_id',
  ],
  [
    'the accepted package with an additional signer',
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
    'the accepted package sharing its keys with another app',
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
    'two accepted packages that share their keys',
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
    'the accepted package without a signer',
    describe({}, {}, { 709: octets(encodeApplicationId([SIMULATED_APP.package], [])) }),
    'application_id',
  ],
  [
    'a signer without a package',
    describe({}, {}, { 709: octets(encodeApplicationId([], [SIMULATED_APP.certificateDigest])) }),
    'application_id',
  ],
])
