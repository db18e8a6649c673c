import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import {
  type AndroidPolicy,
  appleTrust,
  attestationRoots,
  CountryTrust,
  isRevoked,
  readMasterList,
  readStateCertificate,
  readStatusList,
  type StatementTrust,
  verifyActiveAuthentication,
  verifyAndroidKeyAttestation,
  verifyAppAssertion,
  verifyAppAttestation,
  verifyAppReceipt,
  verifyPassiveAuthentication,
  verifyPassport,
  verifyWebAuthnAssertion,
  verifyWebAuthnRegistration,
} from '../src/index.ts'
import { readPublicKey } from '../src/x509/public-key.ts'
import { AUTHORITY, CHALLENGE, describe, newKey, NOW, APPS } from './android/chains.ts'
import { POLICY, wordOf } from './android/trust.ts'

const BYTES = Buffer.alloc(40)
const key = newKey().publicKey
const app = {
  appId: 'TEAM123456.example.bank',
  environments: ['production'],
  categories: [4],
  missing: 'allow',
  bundleVersions: 'any',
} as const
const apple = appleTrust([app])
const webAuthn: StatementTrust = { packed: [], apple: [], android: POLICY }
const states = new CountryTrust([])
const page = { origin: 'https://bank.example', rpId: 'bank.example' }

/** Each verb with its arguments; those that must be bytes, and the time, are replaced in turn. */
const VERBS: Readonly<
  Record<
    string,
    readonly [call: (input: never) => unknown, input: Readonly<Record<string, unknown>>]
  >
> = {
  verifyAppAttestation: [
    (input) => verifyAppAttestation(input, apple),
    { attestationObject: BYTES, keyId: BYTES, clientDataHash: BYTES, now: NOW },
  ],
  verifyAppAssertion: [
    (input) => verifyAppAssertion(input, app),
    { publicKey: key, clientDataHash: BYTES, authenticatorData: BYTES, signature: BYTES },
  ],
  verifyAppReceipt: [
    (input) => verifyAppReceipt(input, apple.receiptAnchors),
    {
      receipt: BYTES,
      appId: app.appId,
      publicKey: BYTES,
      environment: 'production',
      clientDataHash: BYTES,
      now: NOW,
    },
  ],
  verifyAndroidKeyAttestation: [
    (input) => verifyAndroidKeyAttestation(input, POLICY),
    { chain: [BYTES, BYTES, BYTES], challenge: BYTES, now: NOW },
  ],
  verifyWebAuthnRegistration: [
    (input) => verifyWebAuthnRegistration(input, webAuthn),
    {
      credentialId: BYTES,
      clientDataJson: BYTES,
      attestationObject: BYTES,
      challenge: BYTES,
      ...page,
      now: NOW,
    },
  ],
  verifyWebAuthnAssertion: [
    verifyWebAuthnAssertion,
    {
      publicKey: key,
      backupEligible: undefined,
      clientDataJson: BYTES,
      authenticatorData: BYTES,
      signature: BYTES,
      challenge: BYTES,
      ...page,
    },
  ],
  verifyPassport: [
    (input) => verifyPassport(input, states),
    {
      sod: BYTES,
      dg1: BYTES,
      dg14: BYTES,
      dg15: BYTES,
      activeAuthentication: BYTES,
      challenge: BYTES,
      now: NOW,
    },
  ],
  verifyPassiveAuthentication: [
    (input) => verifyPassiveAuthentication(input, states),
    { sod: BYTES, dg1: BYTES, dg14: BYTES, dg15: BYTES, now: NOW },
  ],
  verifyActiveAuthentication: [
    verifyActiveAuthentication,
    { dg14: BYTES, dg15: BYTES, challenge: BYTES, signature: BYTES },
  ],
  readMasterList: [
    ({ bytes, now }: { bytes: Uint8Array; now: number }) =>
      readMasterList(bytes, { roots: [], now }),
    { bytes: BYTES, now: NOW },
  ],
  readStateCertificate: [
    ({ encoded }: { encoded: Uint8Array }) => readStateCertificate(encoded),
    { encoded: BYTES },
  ],
  readPublicKey: [({ spki }: { spki: Uint8Array }) => readPublicKey(spki), { spki: BYTES }],
}

for (const [verb, [call, input]] of Object.entries(VERBS)) {
  test(`${verb} rejects bytes that it cannot read without throwing`, () => {
    assert.doesNotThrow(() => call(input as never))
  })
  for (const [name, value] of Object.entries(input)) {
    if (value === BYTES || Array.isArray(value))
      test(`${verb} throws an error that names ${name} when it is a string`, () => {
        const text = Array.isArray(value) ? ['AAAA'] : 'AAAA'
        assert.throws(
          () => call({ ...input, [name]: text } as never),
          (error) => {
            assert.ok(error instanceof TypeError)
            assert.match(
              error.message,
              new RegExp(`^${name}(?:\\[0\\])? must be a Uint8Array, not string`),
            )
            assert.match(error.message, /Decode it first/)
            return true
          },
        )
      })
    if (name === 'now')
      test(`${verb} throws when the time is missing, or is not a number`, () => {
        for (const now of [undefined, Number.NaN, new Date(NOW), '2026-11-21'])
          assert.throws(() => call({ ...input, now } as never), /now must be a number of millisec/)
      })
  }
}

const REVOKED = readStatusList('{"entries":{"ab01":{"status":"REVOKED"},"7":{"status":"REVOKED"}}}')

test('isRevoked finds a serial in the spelling of Node, which is upper-case and may be padded', () => {
  assert.ok(REVOKED)
  for (const serial of ['ab01', 'AB01', '00AB01', 'AB:01', '0ab01'])
    assert.equal(isRevoked(REVOKED.serials, serial), true, serial)
  for (const serial of ['ab02', '1ab01', '0'])
    assert.equal(isRevoked(REVOKED.serials, serial), false)
})

test('isRevoked finds a serial in a set that the caller made, in any spelling', () => {
  for (const listed of ['AB01', '00ab01', '00:AB:01', '43777'])
    assert.equal(isRevoked(new Set([listed]), 'ab01'), true, listed)
})

test('isRevoked throws for a text that is not a serial, in the set too', () => {
  for (const serial of ['', 'xyz', '0xab', 'ab ', '-1'])
    assert.throws(() => isRevoked(new Set(['ab01']), serial), RangeError)
  assert.throws(() => isRevoked(new Set(['xyz']), 'ab01'), RangeError)
})

const attest = (policy: Partial<AndroidPolicy>) =>
  verifyAndroidKeyAttestation(
    { chain: AUTHORITY.attest(newKey().publicKey, describe()), challenge: CHALLENGE, now: NOW },
    { ...POLICY, roots: new Set([AUTHORITY.rootKeyDigest]), apps: APPS, ...policy },
  )
const spellings = (digest: string) => [
  digest.toUpperCase(),
  digest.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:'),
]

test('a digest of a policy may be in upper case and with colons', () => {
  for (const root of spellings(AUTHORITY.rootKeyDigest)) {
    assert.equal(wordOf(attest({ roots: new Set([root]) })), 'ok')
    const tested = attest({ testRoots: new Set([root]) })
    assert.equal(tested.ok && tested.value.environment, 'sandbox', root)
  }
  const [only] = APPS
  assert.ok(only)
  for (const digest of spellings(only.certificateDigests[0] ?? '')) {
    const attested = attest({ apps: [{ ...only, certificateDigests: [digest] }] })
    assert.equal(
      attested.ok && attested.value.appId,
      `${only.package}:${only.certificateDigests[0]}`,
    )
  }
})

test('a policy with a value of another form throws', () => {
  const digests = new Set(['AB01'])
  for (const wrong of [
    { roots: digests },
    { testRoots: digests },
    { ownerBootKeys: digests },
    { apps: [{ package: 'example.bank', certificateDigests: ['EDk47kU35Z6O55L2VFBPuA=='] }] },
    { minPatchLevel: 20_260_101 },
    { minPatchLevel: Number.NaN },
    { minPatchLevel: undefined as never },
    { userAuthenticationWithinSeconds: Number.NaN },
    { userAuthenticationWithinSeconds: -1 },
    { keyAlgorithms: ['EdDSA' as never] },
    { keyAlgorithms: ['toString' as never] },
  ])
    assert.throws(() => attest(wrong), RangeError, JSON.stringify(wrong))
})

test('a root that is not a certificate throws', () => {
  assert.throws(() => attestationRoots(['AAAA'], 'production'))
  assert.throws(() => appleTrust([app], ['AAAA']))
  assert.throws(() => new X509Certificate('AAAA'))
})
