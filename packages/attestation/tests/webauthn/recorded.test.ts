import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  SettingsService,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import { readVector, vectorsMissing } from '../../../contract/tests/vectors.ts'
import { decodeCbor } from '../../src/cbor/strict-cbor.ts'
import { readCoseKey } from '../../src/cbor/cose-key.ts'
import { verifyWebAuthnAssertion } from '../../src/webauthn/verify-assertion.ts'
import { verifyStatement } from '../../src/webauthn/verify-statement.ts'
import { BROWSER_KEY_STORES } from '../../src/webauthn/trust.ts'
import { readCertificate } from '../../src/x509/certificate.ts'
import { policyWith, wordOf } from '../android/trust.ts'
import { registrationVerifier } from './test-pki.ts'

interface Registration {
  readonly challenge: string
  readonly credentialId: string
  readonly clientDataJSON: string
  readonly attestationObject: string
}
interface Authentication {
  readonly challenge: string
  readonly authenticatorData: string
  readonly clientDataJSON: string
  readonly signature: string
}

/**
 * A recording of the W3C: whether the library accepts both steps without user verification. Then
 * our verdict on the registration, which always requires it, and on the statement alone, under the
 * W3C's root.
 */
const W3C: Readonly<
  Record<
    string,
    readonly [library: 'both' | 'registration' | 'neither', ours: string, statement: string]
  >
> = {
  'none-es256': ['both', 'user_verified', 'none'],
  'packed-self-es256': ['both', 'unattested', 'none'],
  'none-es256-crossOrigin': ['both', 'client_data_cross_origin', 'none'],
  'none-es256-topOrigin': ['both', 'client_data_cross_origin', 'none'],
  'none-es256-long-credential-id': ['both', 'user_verified', 'none'],
  'packed-es256': ['both', 'unattested', 'attested'],
  // The rest does not use ES256, which is the one algorithm of protocol 5.
  'packed-es384': ['both', 'user_verified', 'no P-256 key'],
  'packed-es512': ['both', 'key_algorithm', 'no P-256 key'],
  'packed-rs256': ['both', 'key_algorithm', 'no P-256 key'],
  'packed-eddsa': ['both', 'user_verified', 'no P-256 key'],
  'packed-ed448': ['registration', 'user_verified', 'no P-256 key'],
  'tpm-es256': ['neither', 'statement_format', 'statement_format'],
  'android-key-es256': ['neither', 'chain_length', 'chain_length'],
  'apple-es256': ['both', 'user_verified', 'attested'],
  'fido-u2f-es256': ['neither', 'user_verified', 'statement_format'],
}
const ALL_ALGORITHMS = [-7, -35, -36, -257, -8, -53]

const w3c =
  vectorsMissing === false
    ? JSON.parse(readVector('webauthn', 'w3c-level3.json').toString())
    : { vectors: [] }
const captures =
  vectorsMissing === false
    ? JSON.parse(readVector('webauthn', 'simplewebauthn-captures.json').toString())
    : { registrations: [], authentications: [] }

/**
 * Recording of the W3C: our verdict on its assertion. Where user verification was not asked for,
 * that is the step that is reached.
 */
const W3C_ASSERTIONS: Readonly<Record<string, string>> = {
  'none-es256': 'user_verified',
  'packed-self-es256': 'user_verified',
  'none-es256-crossOrigin': 'client_data_cross_origin',
  'none-es256-topOrigin': 'client_data_cross_origin',
  'none-es256-long-credential-id': 'ok',
  'packed-es256': 'ok',
  'tpm-es256': 'ok',
  'android-key-es256': 'user_verified',
  'apple-es256': 'user_verified',
  'fido-u2f-es256': 'user_verified',
}

function w3cTrust() {
  const certificate = readCertificate(Buffer.from(w3c.attestationCaCert, 'base64url'))
  assert.ok(certificate)
  const roots = [{ certificate, environment: 'sandbox' as const }]
  return {
    packed: roots,
    apple: roots,
    android: policyWith({ apps: BROWSER_KEY_STORES }),
  }
}

for (const { name, registration, authentication } of w3c.vectors as {
  name: string
  registration: Registration
  authentication: Authentication
}[]) {
  const [library, ours, statement] = W3C[name] ?? []

  test(`w3c: ${name}: the library returns ${library}`, async () => {
    assert.equal(await libraryVerdict(registration, authentication), library)
  })

  test(`w3c: ${name}: registration ${ours}, statement ${statement}`, async () => {
    const now = Date.parse('2024-06-01')
    const { challenge, credentialId: id, ...response } = registration
    const register = registrationVerifier({ origin: w3c.origin, now, trust: w3cTrust() })
    const registered = await register(challenge, { id, response })
    const shown = registered.ok
      ? registered.value.attested
        ? 'attested'
        : 'unattested'
      : wordOf(registered)
    assert.equal(shown, ours)
    assert.equal(await statementVerdict(registration), statement)
  })
}

for (const { name, registration, authentication } of w3c.vectors as {
  name: string
  registration: Registration
  authentication: Authentication
}[]) {
  const verdict = W3C_ASSERTIONS[name]
  test(`w3c: ${name}: assertion ${verdict ?? 'skipped, because the key is not P-256'}`, () => {
    const object = decodeCbor(Buffer.from(registration.attestationObject, 'base64url'))
    const { credentialPublicKey = new Uint8Array() } = parseAuthenticatorData(
      Uint8Array.from((object as Map<string, Uint8Array>).get('authData') ?? []),
    )
    const { challenge, ...assertion } = authentication
    const judged = assertionVerdict(credentialPublicKey, assertion, {
      challenge,
      origin: w3c.origin,
      rpId: w3c.rpId,
    })
    assert.equal(judged, verdict)
  })
}

function assertionVerdict(
  cose: Uint8Array,
  { authenticatorData, clientDataJSON, signature }: Omit<Authentication, 'challenge'>,
  { challenge, origin, rpId }: { challenge: string; origin: string; rpId: string },
): string | undefined {
  const key = readCoseKey(cose)
  if (key === undefined) return undefined
  return wordOf(
    verifyWebAuthnAssertion({
      publicKey: key,
      backupEligible: undefined,
      clientDataJson: Buffer.from(clientDataJSON, 'base64url'),
      authenticatorData: Buffer.from(authenticatorData, 'base64'),
      signature: Buffer.from(signature, 'base64'),
      challenge: Buffer.from(challenge, 'base64url'),
      origin,
      rpId,
    }),
  )
}

async function libraryVerdict(
  registration: Registration,
  authentication: Authentication,
): Promise<string> {
  for (const identifier of ['packed', 'apple', 'tpm', 'fido-u2f', 'android-key'] as const) {
    SettingsService.setRootCertificates({
      identifier,
      certificates: [Uint8Array.from(Buffer.from(w3c.attestationCaCert, 'base64url'))],
    })
  }
  const { challenge, credentialId: id, ...response } = registration
  const common = {
    expectedOrigin: w3c.origin,
    expectedRPID: w3c.rpId,
    requireUserVerification: false,
  }
  const credential = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} }
  try {
    const registered = await verifyRegistrationResponse({
      ...common,
      response: { ...credential, response },
      expectedChallenge: challenge,
      requireUserPresence: false,
      supportedAlgorithmIDs: ALL_ALGORITHMS,
    })
    if (!registered.verified) return 'neither'
    const { challenge: expectedChallenge, ...assertion } = authentication
    const { publicKey } = registered.registrationInfo.credential
    const authenticated = await verifyAuthenticationResponse({
      ...common,
      response: { ...credential, response: assertion },
      expectedChallenge,
      credential: { id, publicKey, counter: 0 },
      expectedTopOrigin: w3c.topOrigin,
    }).catch(() => ({ verified: false }))
    return authenticated.verified ? 'both' : 'registration'
  } catch {
    return 'neither'
  }
}

async function statementVerdict({
  attestationObject,
  clientDataJSON,
}: Registration): Promise<string> {
  const object = decodeCbor(Buffer.from(attestationObject, 'base64url'))
  assert.ok(object instanceof Map)
  const authenticatorData = object.get('authData') as Uint8Array
  const { aaguid = new Uint8Array(), credentialPublicKey = new Uint8Array() } =
    parseAuthenticatorData(Uint8Array.from(authenticatorData))
  const publicKey = readCoseKey(credentialPublicKey)
  if (publicKey === undefined) return 'no P-256 key'
  const clientDataHash = createHash('sha256')
    .update(Buffer.from(clientDataJSON, 'base64url'))
    .digest()
  const about = {
    format: object.get('fmt'),
    members: object.get('attStmt'),
    authenticatorData,
    clientDataHash,
    aaguid,
    publicKey,
  }
  const verdict = verifyStatement(about, w3cTrust(), Date.parse('2024-06-01'))
  return verdict.ok ? (verdict.value.attested ? 'attested' : 'none') : wordOf(verdict)
}

/** Registration of a real phone: our verdict. One that is not listed must be taken. */
const CAPTURED: Readonly<Record<string, string>> = {
  // A FAKE root, and no user verification.
  'should verify Android Keystore response from FIDO Conformance in 2020': 'user_verified',
}

for (const capture of captures.registrations) {
  test(`captured: ${capture.name}: ${CAPTURED[capture.name] ?? 'attested'}`, async () => {
    const now = Date.parse(capture.verifyAt)
    const trust = { packed: [], apple: [], android: policyWith({ apps: BROWSER_KEY_STORES }) }
    const register = registrationVerifier({ origin: capture.expectedOrigin, now, trust })
    const { challenge } = JSON.parse(Buffer.from(capture.clientDataJSON, 'base64url').toString())
    const registered = await register(challenge, { id: capture.id, response: capture })
    if (CAPTURED[capture.name] !== undefined)
      return assert.equal(wordOf(registered), CAPTURED[capture.name])
    assert.equal(wordOf(registered), 'ok')
    assert.ok(registered.ok)
    const { environment, attested, backupEligible } = registered.value
    assert.deepEqual([environment, attested, backupEligible], ['production', true, false])
    // Remotely provisioned certificates are valid for weeks: two years later their chains are
    // rejected.
    const remote = capture.name.includes('Pixel')
    const later = registrationVerifier({
      origin: capture.expectedOrigin,
      now: now + 2 * 365 * 86_400_000,
      trust,
    })
    const verdict = wordOf(await later(challenge, { id: capture.id, response: capture }))
    assert.equal(verdict, remote ? 'validity' : 'ok')
  })
}

for (const capture of captures.authentications) {
  test(`captured: ${capture.name}: the library accepts it, and this package rejects it only for the missing user verification`, async () => {
    const { id, clientDataJSON } = capture
    const authenticatorData = Buffer.from(capture.authenticatorData, 'base64').toString('base64url')
    const signature = Buffer.from(capture.signature, 'base64').toString('base64url')
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString())
    const { verified } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: { clientDataJSON, authenticatorData, signature },
      },
      expectedChallenge: challenge,
      expectedOrigin: capture.expectedOrigin,
      expectedRPID: capture.expectedRPID,
      credential: {
        id,
        publicKey: Uint8Array.from(Buffer.from(capture.credentialPublicKeyCose, 'base64url')),
        counter: capture.storedCounter,
      },
      requireUserVerification: false,
    })
    assert.ok(verified)
    const cose = Uint8Array.from(Buffer.from(capture.credentialPublicKeyCose, 'base64url'))
    const expected = { challenge, origin: capture.expectedOrigin, rpId: capture.expectedRPID }
    assert.equal(
      assertionVerdict(cose, { authenticatorData, clientDataJSON, signature }, expected),
      'user_verified',
    )
  })
}

test('the recordings of WebAuthn are not empty', { skip: vectorsMissing }, () => {
  assert.ok(
    w3c.vectors.length >= 15 &&
      captures.registrations.length >= 3 &&
      captures.authentications.length >= 2,
  )
})
