import { hash } from 'node:crypto'
import { decodeBase64url } from '@bonded/contract'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { AssertionVerifier, RegisteredKey } from '../../../ports/proofs.ts'
import { publicKeyOf } from '../public-keys.ts'
import { type TrustAnchor, trustAnchor } from './chain.ts'
import type { AppleApp } from './app.ts'
import { readKeyId } from './key-id.ts'
import { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from './roots.ts'
import { type AppleTrust, type AttestedKey, verifyAttestation } from './verify-attestation.ts'
import { verifyAssertion } from './verify-assertion.ts'

/** Apple's own roots, and those of a test setup, whose phones are sandbox phones. */
export function appleTrust(apps: readonly AppleApp[], testRoots: readonly string[] = []): AppleTrust {
  const under = (root: string): TrustAnchor[] => [trustAnchor(root, 'production'), ...testRoots.map((pem) => trustAnchor(pem, 'sandbox'))]
  return { apps, anchors: under(APP_ATTESTATION_ROOT), receiptAnchors: under(APPLE_ROOT_G3) }
}

/** What `POST /devices` carries for this format. */
export interface AppleRegistration {
  readonly key_id: string
  readonly attestation_object: string
  readonly challenge: string
}

export interface RegisteredAppleKey extends RegisteredKey, Pick<AttestedKey, 'category' | 'bundleVersion' | 'receipt'> {}

/** Registers a key that App Attest vouches for. The challenge was judged before. */
export async function registerAppleKey(request: AppleRegistration, trust: AppleTrust, now: number): Promise<Result<RegisteredAppleKey>> {
  const keyId = readKeyId(request.key_id)
  const attestationObject = decodeBase64url(request.attestation_object)
  const challenge = decodeBase64url(request.challenge)
  if (keyId === undefined || attestationObject === undefined || challenge === undefined) return refuse('attestation_invalid', { step: 'encoding' })
  const clientDataHash = hash('sha256', challenge, 'buffer')
  const attested = await verifyAttestation({ attestationObject: Buffer.from(attestationObject), keyId, clientDataHash, now }, trust)
  // Spelled anew: two spellings of one key id must not be two keys.
  return attested.ok ? accept({ keyId: keyId.toString('base64url'), ...attested.value }) : attested
}

/** Assertions of an App Attest key (protocol 5). */
export function appleVerifier(apps: readonly AppleApp[]): AssertionVerifier {
  return {
    verify({ device, payload, appAttest }) {
      const no = (step: string) => refuse('assertion_invalid', { step })
      // The key is the registered one, and nothing of another format was sent.
      if (appAttest.key_id !== device.keyId && readKeyId(appAttest.key_id)?.toString('base64url') !== device.keyId) return no('key_id')
      if (appAttest.client_data_json !== undefined) return no('client_data_json')
      const authenticatorData = decode(appAttest.authenticator_data)
      const signature = decode(appAttest.signature)
      if (authenticatorData === undefined || signature === undefined) return no('encoding')
      const app = apps.find(({ appId }) => appId === device.appId)
      if (app === undefined) return no('app_not_configured')
      // 1. The hash is of the payload rebuilt here; the one sent is only compared.
      const clientDataHash = hash('sha256', payload, 'buffer')
      if (clientDataHash.toString('base64url') !== appAttest.client_data_hash) return no('client_data_hash')
      const asserted = verifyAssertion({ publicKey: publicKeyOf(device), clientDataHash, authenticatorData, signature }, app)
      return asserted.ok ? accept({ counter: asserted.value.counter, userVerified: false }) : asserted
    },
  }
}

/** Node's decoder skips junk; what it writes back tells. Ten times as fast as a strict one in JavaScript. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
