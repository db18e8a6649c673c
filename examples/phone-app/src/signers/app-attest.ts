import { encodeBase64url } from '@bonded/contract'
import { PhoneError, type PlatformSigner } from '@bonded/phone'
import { readAssertionObject } from './assertion-object.ts'
import { bytesOf, toBase64url } from './base64.ts'

/** The part of `@expo/app-integrity` that is used. Keys and results are in standard base64. */
export interface AppIntegrity {
  generateKeyAsync(): Promise<string>
  /** Hashes the challenge's UTF-8 with SHA-256, and has Apple attest the key over the hash. */
  attestKeyAsync(keyId: string, challenge: string): Promise<string>
  /** Hashes the challenge's UTF-8 with SHA-256, and signs the hash. */
  generateAssertionAsync(keyId: string, challenge: string): Promise<string>
}

/** Where the id of the attested key is stored. Durable when `keep` resolves. */
export interface KeyIdStore {
  keyId(): Promise<string | undefined>
  keepKeyId(keyId: string): Promise<void>
}

/** Apple's service did not respond. */
const SERVER_UNAVAILABLE = 'ERR_APP_INTEGRITY_SERVER_UNAVAILABLE'
/** The key does not exist: the app was reinstalled, or the phone was restored from a backup. */
const INVALID_KEYS: ReadonlySet<unknown> = new Set([
  'ERR_APP_INTEGRITY_INVALID_KEY',
  'ERR_APP_INTEGRITY_INVALID_INPUT',
])

/**
 * Signs with an App Attest key. The key is in the Secure Enclave, and its counter too.
 *
 * @throws {PhoneError} `authenticator_unusable` with `key_missing` where the phone must be set up
 * again, `unreachable` where Apple's service does not respond
 */
export function createAppAttestSigner(integrity: AppIntegrity, keys: KeyIdStore): PlatformSigner {
  // Apple asks to attest the same key again after an outage of its service, not a new one.
  let unattested: string | undefined
  return {
    format: 'apple-app-attest',
    async attest(challenge) {
      const keyId = (unattested ??= await request(() => integrity.generateKeyAsync()))
      const object = await request(() =>
        // The library takes a text. The service accepts the hash of the challenge's text.
        integrity.attestKeyAsync(keyId, encodeBase64url(challenge)),
      ).catch((failure: unknown) => {
        if (!(failure instanceof PhoneError && failure.code === 'unreachable'))
          unattested = undefined
        throw failure
      })
      unattested = undefined
      // Before the registration, so that a registered key is never without its id.
      await keys.keepKeyId(keyId)
      return { key_id: toBase64url(keyId), attestation_object: toBase64url(object) }
    },
    async assert({ payload }) {
      const keyId = await keys.keyId()
      if (keyId === undefined) throw missingKey()
      const signed = await request(() => integrity.generateAssertionAsync(keyId, payload))
      return readAssertionObject(bytesOf(signed))
    },
  }
}

async function request(call: () => Promise<string>): Promise<string> {
  try {
    return await call()
  } catch (cause) {
    const code = (cause as { readonly code?: unknown } | null)?.code
    if (code === SERVER_UNAVAILABLE)
      throw new PhoneError('unreachable', { reason: 'app_attest', cause })
    if (INVALID_KEYS.has(code)) throw missingKey(cause)
    throw new PhoneError('authenticator_unusable', { reason: 'app_attest', cause })
  }
}

function missingKey(cause?: unknown): PhoneError {
  return new PhoneError('authenticator_unusable', { reason: 'key_missing', cause })
}
