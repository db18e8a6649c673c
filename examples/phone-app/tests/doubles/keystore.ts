import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import {
  androidAppId,
  type AndroidAuthority,
  honestDescription,
  SIMULATED_APP,
} from '@bonded/simulator'
import type { Keystore } from '../../src/signers/keystore.ts'
import { coded } from './app-integrity.ts'

/** `modules/bonded-keystore` on a simulated Android phone. */
export class KeystoreDouble implements Keystore {
  readonly #authority: AndroidAuthority
  #key: KeyObject | undefined
  /** Whether the user authenticated recently. */
  isUnlocked = false
  hasScreenLock = true

  constructor(authority: AndroidAuthority) {
    this.#authority = authority
  }

  async appIdAsync(): Promise<string> {
    return androidAppId(SIMULATED_APP)
  }

  async createKeyAsync(challenge: string): Promise<readonly string[]> {
    if (!this.hasScreenLock) throw coded('ERR_NO_SCREEN_LOCK')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    const publicKey = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const description = honestDescription(Buffer.from(challenge, 'base64url'))
    const chain = this.#authority.attest(publicKey, description)
    return chain.map((certificate) => certificate.toString('base64url'))
  }

  async signAsync(message: string): Promise<string> {
    if (this.#key === undefined) throw coded('ERR_KEY_MISSING')
    if (!this.isUnlocked) throw coded('ERR_KEY_LOCKED')
    return sign('sha256', Buffer.from(message, 'base64url'), this.#key).toString('base64url')
  }

  /** As after the user removed the screen lock. */
  invalidate(): void {
    this.#key = undefined
  }
}
