import assert from 'node:assert/strict'
import { createPublicKey, hash, type KeyObject, sign } from 'node:crypto'
import {
  androidAppId,
  type Attestation,
  type AuthenticatorOptions,
  certifyKey,
  createAndroidAuthority,
  createAuthenticator,
  createAuthenticatorAuthority,
  der,
  honestDescription,
  keyIdOf,
  createAppAttestAuthority,
  SIMULATED_APP,
} from '@bonded/simulator'
import { attestationRoots, type StatementTrust } from '../../src/webauthn/trust.ts'
import { verifyWebAuthnRegistration } from '../../src/webauthn/verify-registration.ts'
import { readCertificate } from '../../src/x509/certificate.ts'
import { policyWith } from '../android/trust.ts'

export const NOW = Date.parse('2026-11-21T09:30:00.000Z')
export const ORIGIN = 'https://bond.example.com'
export const CHALLENGE = Buffer.alloc(32, 5).toString('base64url')
export const AAGUID = Buffer.alloc(16, 7)
export const MANUFACTURER = createAuthenticatorAuthority(AAGUID)
const ANDROID = createAndroidAuthority()
const APPLE = createAppAttestAuthority(NOW)

/** A key that no library can read: the point is not on the curve. */
export const NO_POINT = {
  type: 'public',
  export: () =>
    der.sequence(
      der.sequence(der.oid('1.2.840.10045.2.1'), der.oid('1.2.840.10045.3.1.7')),
      der.bits(Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])),
    ),
} as unknown as KeyObject

/**
 * A service that trusts these test authorities, including the ones that replace Apple's and
 * Google's.
 */
export function trustOf(environment: 'production' | 'sandbox' = 'production'): StatementTrust {
  const certificate = readCertificate(MANUFACTURER.root)
  assert.ok(certificate)
  const apps = [
    {
      package: SIMULATED_APP.package,
      certificateDigests: [androidAppId(SIMULATED_APP).split(':')[1] ?? ''],
    },
  ]
  return {
    packed: [{ certificate, environment }],
    apple: attestationRoots([APPLE.root], environment),
    android: policyWith({ roots: new Set([ANDROID.rootKeyDigest]), apps }),
  }
}

/** The verified members of `credential.toJSON()`. */
interface RegistrationJson {
  readonly id: string
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
}

const decode = (text: string) => Buffer.from(text, 'base64url')

/** Verifies registrations of a page at the origin. */
export function registrationVerifier({
  origin = ORIGIN,
  trust = trustOf(),
  now = NOW,
}: {
  origin?: string
  trust?: StatementTrust
  now?: number
} = {}) {
  return async (challenge: string, { id, response }: RegistrationJson) =>
    verifyWebAuthnRegistration(
      {
        credentialId: decode(id),
        clientDataJson: decode(response.clientDataJSON),
        attestationObject: decode(response.attestationObject),
        challenge: decode(challenge),
        origin,
        rpId: new URL(origin).hostname,
        now,
      },
      trust,
    )
}

/** Registers a new key. Page and authenticator are honest except for the options. */
export function register(options: Partial<AuthenticatorOptions>, trust = trustOf()) {
  const authenticator = createAuthenticator({ origin: ORIGIN, aaguid: AAGUID, ...options })
  return registrationVerifier({ trust })(CHALLENGE, authenticator.register(CHALLENGE))
}

/** Chrome on Android: the chain of the key, for the client data. */
export const android =
  (tamper: object = {}, software: object = {}): Attestation =>
  ({ privateKey, authenticatorData, clientDataHash }) => {
    const description = honestDescription(clientDataHash)
    const publicKey = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const tampered = {
      ...description,
      hardwareEnforced: { ...description.hardwareEnforced, ...tamper },
      softwareEnforced: { ...description.softwareEnforced, ...software },
    }
    const chain = ANDROID.attest(publicKey, tampered)
    return [
      'android-key',
      new Map<string, number | Buffer | Buffer[]>([
        ['alg', -7],
        ['sig', sign('sha256', Buffer.concat([authenticatorData, clientDataHash]), privateKey)],
        ['x5c', chain],
      ]),
    ]
  }

/** Safari on an iPhone: a certificate of the key, for the authenticator and client data. */
export const apple: Attestation = ({ privateKey, authenticatorData, clientDataHash }) => {
  const publicKey = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  return [
    'apple',
    new Map([
      ['x5c', certifyKey(APPLE, { publicKey, keyId: keyIdOf(publicKey), nonce, now: NOW })],
    ]),
  ]
}

/** The same statement with other members. */
export const withMembers =
  (attestation: Attestation, tamper: (members: Map<string, unknown>) => void): Attestation =>
  (about) => {
    const [format, members] = attestation(about)
    const copy = new Map<string, unknown>(members)
    tamper(copy)
    return [format, copy as typeof members]
  }
