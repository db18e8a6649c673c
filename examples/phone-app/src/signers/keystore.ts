import { encodeBase64url } from '@bonded/contract'
import { authenticatorData, PhoneError, type PlatformSigner, type Sha256 } from '@bonded/phone'
import { bytesOf } from './base64.ts'

/** The module in `modules/bonded-keystore`. Bytes are in base64url. */
export interface Keystore {
  /** The app's package and the SHA-256 of its signing certificate, lower-case hex. */
  appIdAsync(): Promise<string>
  /**
   * Replaces the key with a new one that is attested over the challenge.
   *
   * @returns the certificate chain, leaf first
   */
  createKeyAsync(challenge: string): Promise<readonly string[]>
  /** ECDSA on P-256 with SHA-256 over the message, as DER. */
  signAsync(message: string): Promise<string>
}

interface KeystoreSignerOptions {
  readonly keystore: Keystore
  readonly sha256: Sha256
  /** Has the user unlock the key. False if the user did not. */
  readonly unlock: () => Promise<boolean>
}

const REASON_OF: Readonly<Record<string, string>> = {
  /** There is no key, or a change of the screen lock has invalidated it. */
  ERR_KEY_MISSING: 'key_missing',
  ERR_NO_SCREEN_LOCK: 'no_screen_lock',
}
/** The key signs only within a short time after the user authenticated. */
const LOCKED = 'ERR_KEY_LOCKED'

/**
 * Signs with a key of the Android Keystore, which the phone's secure hardware attests. The app
 * counts the assertions.
 *
 * @throws {PhoneError} `user_verification_failed`, `authenticator_unusable` with `key_missing`
 * where the phone must be set up again, or with `no_screen_lock`
 */
export function createKeystoreSigner(options: KeystoreSignerOptions): PlatformSigner {
  const { keystore, sha256, unlock } = options
  const sign = async (message: string) => {
    try {
      return await keystore.signAsync(message)
    } catch (failure) {
      if (codeOf(failure) !== LOCKED) throw failure
      if (!(await unlock())) throw new PhoneError('user_verification_failed', { reason: 'locked' })
      return keystore.signAsync(message)
    }
  }
  return {
    format: 'android-key',
    attest: (challenge) =>
      request(async () => ({
        certificate_chain: [...(await keystore.createKeyAsync(encodeBase64url(challenge)))],
      })),
    assert: ({ clientDataHash, nextCounter }) =>
      request(async () => {
        const appId = ascii(await keystore.appIdAsync())
        const data = authenticatorData(await sha256(appId), await nextCounter())
        const message = new Uint8Array([...data, ...clientDataHash])
        return {
          authenticatorData: data,
          signature: bytesOf(await sign(encodeBase64url(message))),
        }
      }),
  }
}

async function request<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof PhoneError) throw cause
    const reason = REASON_OF[String(codeOf(cause))] ?? 'keystore'
    throw new PhoneError('authenticator_unusable', { reason, cause })
  }
}

function codeOf(failure: unknown): unknown {
  return (failure as { readonly code?: unknown } | null)?.code
}

/** A package name and hex digits are ASCII. */
function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}
