import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import {
  androidAppId,
  createAppAssertion,
  attestKey,
  createAndroidAuthority,
  createAuthenticator,
  createAuthenticatorAuthority,
  honestDescription,
  createAppAttestAuthority,
  noAttestation,
  pemOf,
  SIMULATED_APP,
} from '@bonded/simulator'
import type { FetchText } from '../../packages/server/src/adapters/attestation/android/google-revocations.ts'
import type { AppleApp } from '@bonded/attestation/apple'
import { trustAnchor } from '@bonded/attestation/apple'
import { appleAttestationVerifier } from '../../packages/server/src/adapters/attestation/apple/attestation-verifier.ts'
import {
  type Attestation,
  createAttestation,
} from '../../packages/server/src/adapters/attestation/attestation.ts'
import {
  NO_APPS,
  type TrustedPhones,
} from '../../packages/server/src/adapters/attestation/phone-trust.ts'
import type { Clock } from '../../packages/core/src/ports/clock.ts'
import { PUBLIC_ORIGIN } from './harness.ts'
import { type AttestedKey, authenticatorData } from './phone.ts'
import { sharedPool } from './shared-pool.ts'
import { TestClock } from './test-clock.ts'

const START = new TestClock().now()
const APPLE = createAppAttestAuthority(START)
const ANDROID = createAndroidAuthority()
const AAGUID = Buffer.alloc(16, 7)
const VENDOR = createAuthenticatorAuthority(AAGUID)
const APP: AppleApp = {
  appId: 'TEAM123456.example.bank',
  environments: ['production', 'development'],
  categories: [4],
  missing: 'refuse',
  bundleVersions: 'any',
}
const STORE = { category: 4, bundleVersion: '7.1' } as const
const ANDROID_APPS = [
  {
    package: SIMULATED_APP.package,
    certificateDigests: [Buffer.from(SIMULATED_APP.certificateDigest).toString('hex')],
  },
]

/** Responds with an empty revocation list. */
export const EMPTY_REVOCATION_LIST: FetchText = async () => ({
  status: 200,
  headers: new Headers(),
  text: async () => '{"entries":{}}',
})

/** The roots of the test PKI. Plain data, so that a process can send it to another one. */
export interface TestRoots {
  /** PEM. */
  readonly apple: string
  /** SHA-256 of the public key. */
  readonly android: string
  /** PEM. */
  readonly webauthn: string
}

/** The roots of this process's test PKI. */
export const TEST_ROOTS: TestRoots = {
  apple: APPLE.root,
  android: ANDROID.rootKeyDigest,
  webauthn: pemOf(VENDOR.root),
}

/** Trusts the test PKI as test roots, so that its keys are sandbox devices. */
export function asTestRoots(clock: Clock, roots = TEST_ROOTS): Attestation {
  return createAttestation(
    {
      apple: { apps: [APP], testRoots: [roots.apple] },
      android: { ...NO_APPS.android, apps: ANDROID_APPS, testRoots: new Set([roots.android]) },
      webauthn: { packedRoots: [], testRoots: [roots.webauthn] },
    },
    { origin: PUBLIC_ORIGIN, clock, fetch: EMPTY_REVOCATION_LIST, startPool: sharedPool },
  )
}

/** Trusts the test PKI in the role of the vendors, so that its keys are production devices. */
export function withProductionRoots(
  clock: Clock,
  fetch: FetchText = EMPTY_REVOCATION_LIST,
): Attestation {
  const phones: TrustedPhones = {
    apple: { apps: [APP], testRoots: [] },
    android: { ...NO_APPS.android, apps: ANDROID_APPS, roots: new Set([ANDROID.rootKeyDigest]) },
    webauthn: { packedRoots: [pemOf(VENDOR.root)], testRoots: [] },
  }
  const { assertionVerifiers, attestationVerifiers } = createAttestation(phones, {
    origin: PUBLIC_ORIGIN,
    clock,
    fetch,
    startPool: sharedPool,
  })
  const trust = {
    apps: [APP],
    anchors: [trustAnchor(APPLE.root, 'production')],
    receiptAnchors: [],
  }
  const verifyApple = appleAttestationVerifier(trust)
  return {
    assertionVerifiers,
    attestationVerifiers: {
      ...attestationVerifiers,
      'apple-app-attest': { verify: async (request) => verifyApple(request, clock.now()).result },
    },
  }
}

/** A new App Attest key. */
export function appleKey(environment: 'production' | 'development' = 'production'): AttestedKey {
  const { privateKey } = newPair()
  const app = { appId: APP.appId, extensions: STORE }
  return {
    format: 'apple-app-attest',
    register(challenge) {
      const clientDataHash = sha256(Buffer.from(challenge, 'base64url'))
      const { keyId, attestationObject } = attestKey(
        { ...app, environment },
        { authority: APPLE, privateKey, clientDataHash, now: START },
      )
      return { key_id: keyId, attestation_object: attestationObject.toString('base64url') }
    },
    assert(payload, tampering) {
      const clientDataHash = sha256(payload)
      const request = {
        privateKey: tampering.privateKey ?? privateKey,
        counter: tampering.counter,
        clientDataHash,
      }
      const { authenticatorData: data, signature } = createAppAssertion(
        { ...app, appId: tampering.appId ?? app.appId },
        request,
      )
      return encode({ data, signature, clientDataHash: tampering.hash ?? clientDataHash })
    },
  }
}

/** A new Android keystore key. */
export function androidKey(): AttestedKey {
  const { privateKey, publicKey } = newPair()
  return {
    format: 'android-key',
    register(challenge) {
      const chain = ANDROID.attest(
        publicKey,
        honestDescription(Buffer.from(challenge, 'base64url')),
      )
      return { certificate_chain: chain.map((certificate) => certificate.toString('base64url')) }
    },
    assert(payload, tampering) {
      const data = authenticatorData(
        tampering.counter,
        tampering.appId ?? androidAppId(SIMULATED_APP),
      )
      const clientDataHash = sha256(payload)
      const signature = sign(
        'sha256',
        Buffer.concat([data, clientDataHash]),
        tampering.privateKey ?? privateKey,
      )
      return encode({ data, signature, clientDataHash: tampering.hash ?? clientDataHash })
    },
  }
}

/** A new browser key. `script` simulates a program that presents itself as a synced passkey. */
export function webauthnKey(kind: 'attested' | 'unattested' | 'script' = 'attested'): AttestedKey {
  const flags = kind === 'script' ? 0x0d : 0x05
  const attestation = kind === 'attested' ? VENDOR.attestation : noAttestation
  const authenticator = createAuthenticator({
    origin: PUBLIC_ORIGIN,
    aaguid: AAGUID,
    attestation,
    flags,
  })
  return {
    format: 'webauthn',
    register: (challenge) => ({ registration: authenticator.register(challenge) }),
    assert(payload, tampering) {
      const challenge = sha256(payload).toString('base64url')
      const clientData = Buffer.from(
        JSON.stringify({
          type: 'webauthn.get',
          challenge,
          origin: PUBLIC_ORIGIN,
          crossOrigin: false,
        }),
      )
      const data = authenticatorData(
        tampering.counter,
        tampering.appId ?? new URL(PUBLIC_ORIGIN).hostname,
      )
      data[32] = tampering.flags ?? flags
      const clientDataHash = sha256(clientData)
      const signature = sign(
        'sha256',
        Buffer.concat([data, clientDataHash]),
        tampering.privateKey ?? authenticator.privateKey,
      )
      return {
        ...encode({ data, signature, clientDataHash: tampering.hash ?? clientDataHash }),
        client_data_json: clientData.toString('base64url'),
      }
    },
  }
}

/** A constructor of a key for each attested format. */
export const ATTESTED_KEYS: readonly (readonly [
  format: AttestedKey['format'],
  make: () => AttestedKey,
])[] = [
  ['apple-app-attest', appleKey],
  ['android-key', androidKey],
  ['webauthn', webauthnKey],
]

function encode({
  data,
  signature,
  clientDataHash,
}: {
  data: Buffer
  signature: Buffer
  clientDataHash: Buffer
}) {
  return {
    client_data_hash: clientDataHash.toString('base64url'),
    authenticator_data: data.toString('base64url'),
    signature: signature.toString('base64url'),
  }
}

function newPair() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    privateKey,
    publicKey: createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' })),
  }
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}
