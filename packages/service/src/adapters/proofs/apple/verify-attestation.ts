import { hash, type KeyObject } from 'node:crypto'
import type { Device } from '../../../domain/session.ts'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import { type TrustAnchor, verifyChain } from './chain.ts'
import {
  type AppleApp,
  type AppleEnvironment,
  appIdHashOf,
  takesBundleVersion,
  takesCategory,
} from './app.ts'
import { readAttestationObject } from './attestation-object.ts'
import { readAttestedData } from './authenticator-data.ts'
import type { Extensions } from './extensions.ts'
import { nonceOf } from './nonce-extension.ts'
import { type ReceiptFinding, verifyReceipt } from './verify-receipt.ts'

/** What registrations are held to. */
export interface AppleTrust {
  readonly apps: readonly AppleApp[]
  /** Roots of App Attest. */
  readonly anchors: readonly TrustAnchor[]
  /** Roots of receipts. */
  readonly receiptAnchors: readonly TrustAnchor[]
}

export interface AttestationFacts {
  readonly attestationObject: Buffer
  /** 32 bytes, as the app named it. */
  readonly keyId: Buffer
  /** SHA-256 of our challenge. */
  readonly clientDataHash: Buffer
  readonly now: number
}

/** What an attestation proves of a key. */
export interface AttestedKey extends Extensions {
  /** SPKI, DER. */
  readonly publicKey: Buffer
  readonly appId: string
  /** `production` only for Apple's production service under Apple's own root. */
  readonly environment: Device['environment']
  /** A signal for whoever investigates a fraud; the key is as good without it. */
  readonly receipt: ReceiptFinding
}

const AAGUID: Readonly<Record<AppleEnvironment, Buffer>> = {
  development: Buffer.from('appattestdevelop'),
  production: Buffer.from('appattest\0\0\0\0\0\0\0'),
}

/**
 * Verifies a new key. The numbers are those of Apple's "Validating apps that connect to your server", section
 * "Verify the attestation".
 */
export function verifyAttestation(facts: AttestationFacts, trust: AppleTrust): Result<AttestedKey> {
  const { keyId, clientDataHash, now } = facts
  const no = (step: string) => refuse('attestation_invalid', { step })
  const object = readAttestationObject(facts.attestationObject)
  if (object === undefined) return no('attestation_object')
  const data = readAttestedData(object.authenticatorData)
  if (data === undefined) return no('authenticator_data')

  // 1. The certificate of the key and its issuer's chain to Apple's root.
  const chain = verifyChain(object.chain, { anchors: trust.anchors, now })
  if (chain === undefined) return no('certificate_chain')
  // 2, 3. The nonce is the hash of the authenticator data and the hash of our challenge.
  const nonce = hash('sha256', Buffer.concat([object.authenticatorData, clientDataHash]), 'buffer')
  // 4. The certificate vouches for that nonce.
  if (nonceOf(chain.leaf)?.equals(nonce) !== true) return no('nonce')
  // 5. The key id is the hash of the certified key, a point of P-256.
  const certified = pointOf(chain.leaf.key)
  if (certified === undefined || !hash('sha256', certified, 'buffer').equals(keyId))
    return no('key_id')
  // 6. It was made by one of our apps.
  const app = trust.apps.find((one) => appIdHashOf(one).equals(data.appIdHash))
  if (app === undefined) return no('app_id')
  // 7. It has signed nothing yet.
  if (data.counter !== 0) return no('counter')
  // 8. It was made in an environment that the app is configured for.
  const environment = app.environments.find((name) => AAGUID[name].equals(data.aaguid))
  if (environment === undefined) return no('environment')
  // 9. The credential is the key, by its id and by its point.
  if (!data.credentialId.equals(keyId)) return no('credential_id')
  if (!data.point.equals(certified)) return no('credential_key')
  // 10, 11. Since iOS 27: where the app came from, and which build it is.
  if (!takesCategory(app, data.extensions)) return no('validation_category')
  if (!takesBundleVersion(app, data.extensions)) return no('bundle_version')

  const publicKey = chain.leaf.key.export({ format: 'der', type: 'spki' })
  const { appId } = app
  return accept({
    publicKey,
    appId,
    environment: environment === 'production' ? chain.anchor.environment : 'sandbox',
    ...data.extensions,
    receipt: verifyReceipt(
      object.receipt,
      { appId, publicKey, environment, clientDataHash, now },
      trust.receiptAnchors,
    ),
  })
}

/** X9.62, uncompressed: 0x04, X, Y. */
function pointOf(key: KeyObject): Buffer | undefined {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}
