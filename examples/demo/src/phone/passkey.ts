import { createPrivateKey, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import {
  type Authenticator,
  createAuthenticator,
  type WebauthnAssertionJson,
  type WebauthnRegistrationJson,
} from '@bonded/simulator'

/** A challenge of the service: 32 bytes in base64url. */
const CHALLENGE = /^[\w-]{43}$/

export interface PasskeyOptions {
  /** The file of the key. It outlives the process, because the service knows the key. */
  readonly file: string
  readonly serviceOrigin: string
  /** The origin that every answer names. */
  readonly pageOrigin: string
}

interface StoredKey {
  readonly rp_id: string
  readonly credential_id: string
  /** PKCS #8 in base64url. */
  readonly private_key: string
}

/** The passkey of the demo's phone, which signs for the bank's page and for no other. */
export class Passkey {
  readonly #options: PasskeyOptions
  #known: { readonly rpId: string; readonly authenticator: Authenticator } | undefined

  constructor(options: PasskeyOptions) {
    this.#options = options
    if (!existsSync(options.file)) return
    const stored = JSON.parse(readFileSync(options.file, 'utf8')) as StoredKey
    const { rp_id, credential_id, private_key } = stored
    const bytes = Buffer.from(private_key, 'base64url')
    const privateKey = createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })
    this.#open(rp_id, { credentialId: credential_id, privateKey })
  }

  /** Creates a new key and returns its registration. The service knew none. */
  create(request: {
    readonly challenge: string
    readonly rp_id: string
  }): WebauthnRegistrationJson {
    const authenticator = this.#open(request.rp_id)
    const { credentialId, privateKey } = authenticator
    const stored: StoredKey = {
      rp_id: request.rp_id,
      credential_id: credentialId,
      private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
    }
    const { file } = this.#options
    // Renaming makes the write atomic, even on a full disk.
    writeFileSync(`${file}.draft`, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.draft`, file)
    return authenticator.register(request.challenge)
  }

  /**
   * Answers what the bank's page asks its browser for. Returns undefined for a request that does
   * not name this key, as an authenticator does.
   */
  answer(request: Readonly<Record<string, unknown>>): WebauthnAssertionJson | undefined {
    const { challenge, rp_id, credentials } = request
    const known = this.#known
    if (known === undefined || rp_id !== known.rpId) return undefined
    const { authenticator } = known
    if (!Array.isArray(credentials) || !credentials.includes(authenticator.credentialId))
      return undefined
    return typeof challenge === 'string' && CHALLENGE.test(challenge)
      ? authenticator.answer(challenge, this.#options.pageOrigin)
      : undefined
  }

  #open(
    rpId: string,
    key?: { readonly credentialId: string; readonly privateKey: KeyObject },
  ): Authenticator {
    const authenticator = createAuthenticator({
      origin: this.#options.serviceOrigin,
      rpId,
      counts: false,
      ...(key && { key }),
    })
    this.#known = { rpId, authenticator }
    return authenticator
  }
}
