import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { BROWSER_KEY_STORES } from '@bonded/attestation/webauthn'
import {
  type AuthenticatorOptions,
  type CborValue,
  createAuthenticator,
  der,
  encodeApplicationId,
  encodeCbor,
  noAttestation,
  SIMULATED_APP,
  WEBAUTHN_FLAGS,
} from '@bonded/simulator'
import {
  AAGUID,
  android,
  CHALLENGE,
  MANUFACTURER,
  NOW,
  ORIGIN,
  trustOf,
} from '../../../../../attestation/tests/webauthn/test-pki.ts'
import { makeAttestationVerifiers } from '../../../../src/adapters/attestation/registration/attestation-verifiers.ts'
import { NO_APPS } from '../../../../src/adapters/attestation/phone-trust.ts'
import { webauthnAttestationVerifier } from '../../../../src/adapters/attestation/webauthn/attestation-verifier.ts'
import { isAttested } from '../../../../../core/src/domain/key-rules.ts'
import { outcomeOf } from '../../../../../../tests/harness/outcome-of.ts'

const { octets } = der
const { userPresent, userVerified, backupEligible } = WEBAUTHN_FLAGS
const verify = webauthnAttestationVerifier({ origin: ORIGIN, trust: trustOf() })

function register(options: Partial<AuthenticatorOptions>) {
  const authenticator = createAuthenticator({ origin: ORIGIN, aaguid: AAGUID, ...options })
  const registration = authenticator.register(CHALLENGE)
  return verify({ challenge: CHALLENGE, registration }, NOW).result
}

/** Byte offsets within the authenticator data of a registration. */
const [FLAGS_AT, ID_LENGTH_AT, ID_AT, KEY_AT] = [32, 53, 55, 87]
const { id, response } = createAuthenticator({ origin: ORIGIN }).register(CHALLENGE)
const clientData = Buffer.from(response.clientDataJSON, 'base64url')
/** `authData` is the last member. */
const authenticatorData = Buffer.from(response.attestationObject, 'base64url').subarray(-164)
const objectOf = (parts: Readonly<Record<string, CborValue>>) =>
  encodeCbor(new Map(Object.entries(parts))).toString('base64url')
const NOBODY = { fmt: 'none', attStmt: new Map() }

const withClientData = (bytes: number) => {
  const filler = 'x'.repeat(bytes - clientData.length - ',"more":""'.length)
  return {
    response: {
      ...response,
      clientDataJSON: Buffer.from(
        `${clientData.toString().slice(0, -1)},"more":"${filler}"}`,
      ).toString('base64url'),
    },
  }
}
const withParts = (parts: Readonly<Record<string, CborValue>>) => ({
  response: { ...response, attestationObject: objectOf(parts) },
})
const withData = (authData: Uint8Array) => withParts({ ...NOBODY, authData })
const withExtensions = (bytes: number) => {
  const data = Buffer.concat([
    authenticatorData,
    encodeCbor(new Map([['more', Buffer.alloc(bytes)]])),
  ])
  data[FLAGS_AT] = authenticatorData.readUInt8(FLAGS_AT) | 0x80
  return withData(data)
}
const withId = (bytes: number) => {
  const credentialId = Buffer.alloc(bytes, 1)
  const length = Buffer.of(bytes >> 8, bytes & 0xff)
  const data = Buffer.concat([
    authenticatorData.subarray(0, ID_LENGTH_AT),
    length,
    credentialId,
    authenticatorData.subarray(KEY_AT),
  ])
  return { id: credentialId.toString('base64url'), ...withData(data) }
}
const otherRp = Buffer.concat([
  hash('sha256', 'example.com', 'buffer'),
  authenticatorData.subarray(FLAGS_AT),
])

const FORMS: readonly (readonly [what: string, tampering: object, verdict: string])[] = [
  ['no change', {}, 'ok'],
  [
    'junk after the client data',
    { response: { ...response, clientDataJSON: `${response.clientDataJSON}=` } },
    'encoding',
  ],
  [
    'junk after the attestation object',
    { response: { ...response, attestationObject: `${response.attestationObject}=` } },
    'encoding',
  ],
  ['as much client data as is taken', withClientData(3_072), 'ok'],
  ['a byte more of client data', withClientData(3_073), 'encoding'],
  ['a large attestation object', withExtensions(16_000), 'ok'],
  ['an attestation object that is too large', withExtensions(16_400), 'encoding'],
  [
    'a list for an attestation object',
    { response: { ...response, attestationObject: encodeCbor([1, 2, 3]).toString('base64url') } },
    'attestation_object',
  ],
  [
    'a fourth part',
    withParts({ ...NOBODY, authData: authenticatorData, more: 1 }),
    'attestation_object',
  ],
  [
    'no format',
    withParts({ attStmt: new Map(), authData: authenticatorData }),
    'attestation_object',
  ],
  [
    'a list for a statement',
    withParts({ ...NOBODY, attStmt: [], authData: authenticatorData }),
    'attestation_object',
  ],
  ['text for authenticator data', withParts({ ...NOBODY, authData: 'data' }), 'attestation_object'],
  ['the longest credential id of WebAuthn', withId(1_023), 'ok'],
  ['a credential id of a byte more', withId(1_024), 'authenticator_data'],
  ['authenticator data of another RP ID', withData(otherRp), 'app_id'],
  ['authenticator data of 36 bytes', withData(authenticatorData.subarray(0, 36)), 'app_id'],
  [
    'authenticator data without its key',
    withData(authenticatorData.subarray(0, ID_AT)),
    'authenticator_data',
  ],
]

for (const [what, tampering, verdict] of FORMS) {
  test(`webauthn: a registration with ${what}: ${verdict}`, () => {
    const registration = { id, type: 'public-key' as const, response, ...tampering }
    assert.equal(outcomeOf(verify({ challenge: CHALLENGE, registration }, NOW).result), verdict)
  })
}

test('webauthn: accepts Android attestations of browser key stores only, not of configured apps', () => {
  const phones = { ...NO_APPS, android: trustOf().android }
  const verifiers = makeAttestationVerifiers({ phones, origin: ORIGIN })
  const keptBy = (packages: readonly string[], digest: Uint8Array) => {
    const attestation = android({}, { 709: octets(encodeApplicationId(packages, [digest])) })
    const registration = createAuthenticator({ origin: ORIGIN, attestation }).register(CHALLENGE)
    return outcomeOf(verifiers.webauthn({ challenge: CHALLENGE, registration }, NOW).result)
  }
  const google = Buffer.from(BROWSER_KEY_STORES[0]?.certificateDigests[0] ?? '', 'hex')
  assert.equal(keptBy(['com.google.android.gms', 'com.google.android.gsf'], google), 'ok')
  // Another app could report any page and any user.
  assert.equal(keptBy([SIMULATED_APP.package], SIMULATED_APP.certificateDigest), 'application_id')
})

test('webauthn: a self-made key that claims UV and BE is unattested, and one with a trusted statement attested', () => {
  const script = register({
    attestation: noAttestation,
    flags: userPresent | userVerified | backupEligible,
  })
  const chip = register({ attestation: MANUFACTURER.attestation })
  assert.ok(script.ok && chip.ok)
  const attested = [script, chip].map(({ value: { webauthn } }) =>
    isAttested({ format: 'webauthn', webauthn }),
  )
  assert.deepEqual(attested, [false, true])
})
