import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listVectors, readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { verifyAndroidChain } from '../../src/android/certificate-chain.ts'
import {
  KEY_DESCRIPTION,
  type KeyDescription,
  readKeyDescription,
} from '../../src/android/key-description.ts'
import { readCertificate } from '../../src/x509/certificate.ts'
import { attest, certificatesOf, POLICY, trustAt, wordOf } from './trust.ts'

/** The apps that recorded the chains. */
const RECORDERS = [
  [
    'com.google.wireless.android.security.attestationverifier.collector',
    'EDk47kU35Z6O55L2VFBPuDRvxrNG0LvEQV/DOfz8jsE=',
  ],
  ['android.keystore.cts', 'bOzFDjSuMb+1Z4mG1tbTc2xXHe0vJFlSd5Ph8FTrDJs='],
].map(([name = '', digest = '']) => ({
  package: name,
  certificateDigests: [Buffer.from(digest, 'base64').toString('hex')],
}))

/**
 * Recording: verdict on its chain, and on registering its key. Nothing of the folder can be
 * registered: the keys are RSA or ML-DSA, or EC without SHA-256. A recording that is not listed is
 * held to what its own description says.
 */
const VERDICTS: Readonly<Record<string, readonly [chain: string, registration: string]>> = {
  'akita/sdk34/SB_RSA_NONE': ['ok', 'key_algorithm'],
  'akita/sdk34/TEE_EC_NONE': ['ok', 'digest'],
  'akita/sdk34/TEE_RSA_BASE+IMEI': ['ok', 'key_algorithm'],
  'akita/sdk34/TEE_RSA_NONE': ['ok', 'key_algorithm'],
  'akita/sdk34/TEE_RSA_NONE_USERAUTH': ['ok', 'key_algorithm'],
  'blueline/sdk28/SB_RSA_NONE': ['ok', 'key_algorithm'],
  'blueline/sdk28/SB_RSA_NONE_USERAUTH': ['ok', 'key_algorithm'],
  'blueline/sdk28/TEE_EC_NONE': ['ok', 'digest'],
  'blueline/sdk28/TEE_RSA_BASE+IMEI': ['ok', 'key_algorithm'],
  'blueline/sdk28/TEE_RSA_NONE': ['ok', 'key_algorithm'],
  'marlin/sdk29/TEE_EC_NONE': ['root', 'root'],
  'marlin/sdk29/TEE_RSA_NONE': ['root', 'root'],
  'tokay/sdk37/TEE_MLDSA_FACTORY': ['ok', 'key_algorithm'],
  'tokay/sdk37/TEE_MLDSA_RKP': ['ok', 'key_algorithm'],
  // Its `deviceLocked` is the BOOLEAN 0x01, which is true: about one phone in twenty writes it so.
  'invalid/malformed_rot_device_locked': ['ok', 'challenge'],
  // Its leaf was edited after it had been signed.
  'invalid/tags_not_in_ascending_order': ['signature', 'signature'],
  // A leaf alone, and a chain without a known root.
  allow_while_on_body: ['chain_length', 'chain_length'],
  p256_sha384_intermediate: ['root', 'root'],
}

const recordings =
  vectorsMissing === false
    ? listVectors('android-key', 'testdata').filter((path) => path.endsWith('.pem'))
    : []

for (const path of recordings) {
  const name = path.slice(0, -'.pem'.length)
  test(`recorded: returns the expected verdicts for ${name} at its own time`, async () => {
    const chain = certificatesOf(readVector('android-key', 'testdata', path).toString())
    const said = recordedDescription(name)
    const now = Number(said?.softwareEnforced?.creationDateTime ?? Date.parse('2024-10-01'))
    const software = said?.attestationSecurityLevel === 'SOFTWARE'
    const [chainVerdict, registration] = VERDICTS[name] ?? [software ? 'root' : 'ok', undefined]
    assert.equal(wordOf(verifyAndroidChain(chain, { roots: POLICY.roots, now })), chainVerdict)
    const registered = await attest(
      chain,
      Buffer.from('challenge'),
      trustAt(now, { apps: RECORDERS }),
    )
    if (registration !== undefined) assert.equal(wordOf(registered), registration)
  })

  test(`recorded: reads the description of ${name}`, () => {
    const [leaf] = certificatesOf(readVector('android-key', 'testdata', path).toString()).map(
      (one) => readCertificate(one),
    )
    const description = readKeyDescription(
      leaf?.extensions.get(KEY_DESCRIPTION)?.value ?? new Uint8Array(),
    )
    const said = recordedDescription(name)
    if (said !== undefined) assert.deepEqual(description && published(description), said)
    if (name === 'invalid/tags_not_in_ascending_order') assert.equal(description, undefined)
    if (name === 'invalid/malformed_rot_device_locked')
      assert.equal(description?.hardwareEnforced.rootOfTrust?.deviceLocked, true)
  })
}

test('the folder of recordings is not empty', { skip: vectorsMissing }, () => {
  assert.ok(recordings.length >= 18)
})

// oxlint-disable-next-line typescript/no-explicit-any -- the recorder's JSON, compared as a whole
function recordedDescription(name: string): any {
  if (!listVectors('android-key', 'testdata').includes(`${name}.json`)) return undefined
  const text = readVector('android-key', 'testdata', `${name}.json`).toString()
  // Some recordings state that the tags of their lists ascend. Here a list with other tags is not a
  // description.
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''), (member, value: unknown) =>
    member === 'areTagsOrdered' ? undefined : value,
  )
}

const LEVELS = ['SOFTWARE', 'TRUSTED_ENVIRONMENT', 'STRONG_BOX']
const BOOT_STATES = ['VERIFIED', 'SELF_SIGNED', 'UNVERIFIED', 'FAILED']
const ORIGINS = ['GENERATED', 'DERIVED', 'IMPORTED', 'RESERVED', 'SECURELY_IMPORTED']

/** A description in the form that Google publishes with its recordings. */
function published(description: KeyDescription): unknown {
  const list = (entries: KeyDescription['hardwareEnforced']) =>
    Object.fromEntries(
      Object.entries(entries).map(([name, value]) => [name, publishedValue(name, value)]),
    )
  return {
    attestationVersion: String(description.attestationVersion),
    attestationSecurityLevel: LEVELS[Number(description.attestationSecurityLevel)],
    keyMintVersion: String(description.keyMintVersion),
    keyMintSecurityLevel: LEVELS[Number(description.keyMintSecurityLevel)],
    attestationChallenge: publishedValue('', description.attestationChallenge),
    uniqueId: publishedValue('', description.uniqueId),
    softwareEnforced: list(description.softwareEnforced),
    hardwareEnforced: list(description.hardwareEnforced),
  }
}

function publishedValue(name: string, value: unknown): unknown {
  if (name === 'origin') return ORIGINS[Number(value)]
  if (name === 'verifiedBootState') return BOOT_STATES[Number(value)]
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Uint8Array)
    return Buffer.from(value).toString(name.startsWith('attestationId') ? 'utf8' : 'base64')
  if (Array.isArray(value)) return value.map((one: unknown) => publishedValue('', one))
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return Object.fromEntries(
      members.map(([member, inner]) => [member, publishedValue(member, inner)]),
    )
  }
  return value
}
