import { hash, type KeyObject } from 'node:crypto'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import { type AppleApp, appIdHashOf, takesBundleVersion, takesCategory } from './app.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import { readAuthenticatorData } from './authenticator-data.ts'
import type { Extensions } from './extensions.ts'

export interface AssertionFacts {
  readonly publicKey: KeyObject
  /** SHA-256 of the payload that was rebuilt here. */
  readonly clientDataHash: Buffer
  readonly authenticatorData: Buffer
  /** ECDSA, DER. */
  readonly signature: Buffer
}

/** What an assertion says. Whether its counter rises is for the store to judge. */
export interface Asserted extends Extensions {
  readonly counter: number
}

/** The fixed part takes 37, the map of iOS 27 about 66 more. */
const MAX_AUTHENTICATOR_DATA_BYTES = 1_024
/** Two integers of at most 33 bytes, with their heads. */
const MAX_SIGNATURE_BYTES = 72
const MIN_SIGNATURE_BYTES = 8

/**
 * Verifies a signature of a registered key. The numbers are those of Apple's "Validating apps that connect to your
 * server", section "Verify the assertion". 1, the hash of the client data, and 6, the challenge within, were judged
 * before: the payload is rebuilt here with the session's own nonce. 5, the counter, is judged after, by the store.
 */
export function verifyAssertion(facts: AssertionFacts, app: AppleApp): Result<Asserted> {
  const { publicKey, clientDataHash, authenticatorData, signature } = facts
  const no = (step: string) => refuse('assertion_invalid', { step })
  if (authenticatorData.length > MAX_AUTHENTICATOR_DATA_BYTES) return no('encoding')
  if (signature.length < MIN_SIGNATURE_BYTES || signature.length > MAX_SIGNATURE_BYTES)
    return no('encoding')

  // 2. The nonce is the hash of both.
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  // 3. The key signed the nonce. ECDSA hashes what it signs, so this is the second hash.
  if (!isSignatureOf({ message: nonce, digest: 'sha256', signature, key: publicKey }))
    return no('signature')
  // What is signed is read only now.
  const data = readAuthenticatorData(authenticatorData)
  if (data === undefined) return no('authenticator_data')
  // 4. It was made by the app that the key was registered for.
  if (!appIdHashOf(app).equals(data.appIdHash)) return no('app_id')
  // 7, 8. Since iOS 27: where the app came from, and which build it is.
  if (!takesCategory(app, data.extensions)) return no('validation_category')
  if (!takesBundleVersion(app, data.extensions)) return no('bundle_version')
  return accept({ counter: data.counter, ...data.extensions })
}
