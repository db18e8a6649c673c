import { hash, type KeyObject } from 'node:crypto'
import { requireBytes, requireInstant } from '../arguments.ts'
import { bufferOf } from '../bytes.ts'
import type { Environment, Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { acceptsBundleVersion, acceptsCategory, type AppleEnvironment, appIdHashOf } from './app.ts'
import { readAttestationObject } from './attestation-object.ts'
import { readAttestedData } from './authenticator-data.ts'
import { verifyAppleChain } from './certificate-chain.ts'
import type { Extensions } from './extensions.ts'
import { nonceOf } from './nonce-extension.ts'
import type { AppleTrust } from './trust.ts'
import { type AppReceiptResult, verifyAppReceipt } from './verify-receipt.ts'

/** What `verifyAppAttestation` is given. */
export interface AppAttestationInput {
  /** The CBOR object that the app got from `attestKey`. */
  readonly attestationObject: Uint8Array
  /** 32 bytes: what the app got from `generateKey`, decoded. */
  readonly keyId: Uint8Array
  /** SHA-256 of the challenge that was sent to the app. */
  readonly clientDataHash: Uint8Array
  readonly now: Instant
}

/** What a verified attestation proves about a key. */
export interface AttestedAppKey extends Extensions {
  /** SPKI, DER. */
  readonly publicKey: Buffer
  readonly appId: string
  /** `production` only for Apple's production service under Apple's own root. */
  readonly environment: Environment
  /** A fraud signal. The key is as good without it. */
  readonly receipt: AppReceiptResult
}

/** The check that failed. */
export type AppAttestationStep =
  | 'attestation_object'
  | 'authenticator_data'
  | 'certificate_chain'
  | 'nonce'
  | 'key_id'
  | 'app_id'
  | 'counter'
  | 'environment'
  | 'credential_id'
  | 'credential_key'
  | 'validation_category'
  | 'bundle_version'

const AAGUID: Readonly<Record<AppleEnvironment, Buffer>> = {
  development: Buffer.from('appattestdevelop'),
  production: Buffer.from('appattest\0\0\0\0\0\0\0'),
}

/**
 * Verifies the attestation of a new App Attest key. The numbers are those of Apple's "Validating
 * apps that connect to your server", section "Verify the attestation".
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { hash } from 'node:crypto'
 * import { appleTrust, verifyAppAttestation } from '@bonded/attestation/apple'
 * import { appAttestSample as sample } from '@bonded/attestation/samples'
 *
 * const app = {
 *   appId: sample.appId,
 *   environments: ['production'],
 *   categories: [4],
 *   missing: 'allow',
 *   bundleVersions: 'any',
 * }
 * const attested = verifyAppAttestation(
 *   {
 *     attestationObject: sample.attestationObject,
 *     keyId: sample.keyId,
 *     clientDataHash: hash('sha256', sample.challenge, 'buffer'),
 *     now: sample.now, // with real phones: Date.now()
 *   },
 *   appleTrust([app], [sample.testRoot]), // with real phones: appleTrust([app])
 * )
 * console.log(attested.ok && attested.value.environment) // sandbox
 */
export function verifyAppAttestation(
  input: AppAttestationInput,
  trust: AppleTrust,
): Result<AttestedAppKey, 'attestation_invalid', AppAttestationStep> {
  const { attestationObject, keyId, clientDataHash, now } = input
  requireBytes({ attestationObject, keyId, clientDataHash })
  requireInstant(now)
  const fail = rejectWith('attestation_invalid')
  const object = readAttestationObject(bufferOf(attestationObject))
  if (object === undefined) return fail('attestation_object')
  const data = readAttestedData(object.authenticatorData)
  if (data === undefined) return fail('authenticator_data')

  // 1. The certificate of the key and its issuer chain to Apple's root.
  const chain = verifyAppleChain(object.chain, { anchors: trust.anchors, now })
  if (chain === undefined) return fail('certificate_chain')
  // 2, 3. The nonce is the hash of the authenticator data and the hash of the challenge.
  const nonce = hash('sha256', Buffer.concat([object.authenticatorData, clientDataHash]), 'buffer')
  // 4. The certificate contains that nonce.
  if (nonceOf(chain.leaf)?.equals(nonce) !== true) return fail('nonce')
  // 5. The key id is the hash of the certified key, a point of P-256.
  const certified = pointOf(chain.leaf.key)
  if (certified === undefined || !hash('sha256', certified, 'buffer').equals(keyId))
    return fail('key_id')
  // 6. The key belongs to one of the accepted apps.
  const app = trust.apps.find((one) => appIdHashOf(one).equals(data.appIdHash))
  if (app === undefined) return fail('app_id')
  // 7. The key has signed nothing yet.
  if (data.counter !== 0) return fail('counter')
  // 8. The environment is one that the app is configured for.
  const environment = app.environments.find((name) => AAGUID[name].equals(data.aaguid))
  if (environment === undefined) return fail('environment')
  // 9. The credential is the key, by its id and by its point.
  if (!data.credentialId.equals(keyId)) return fail('credential_id')
  if (!data.point.equals(certified)) return fail('credential_key')
  // 10, 11. Since iOS 27: the installation channel and the build.
  if (!acceptsCategory(app, data.extensions)) return fail('validation_category')
  if (!acceptsBundleVersion(app, data.extensions)) return fail('bundle_version')

  const publicKey = chain.leaf.key.export({ format: 'der', type: 'spki' })
  const { appId } = app
  return accept({
    publicKey,
    appId,
    environment: environment === 'production' ? chain.anchor.environment : 'sandbox',
    ...data.extensions,
    receipt: verifyAppReceipt(
      { receipt: object.receipt, appId, publicKey, environment, clientDataHash, now },
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
