import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto'
import {
  type AppAttestAuthority,
  attestKey,
  createAppAssertion,
  encodeCbor,
} from '@bonded/simulator'
import type { AppIntegrity } from '../../src/signers/app-attest.ts'

/** `@expo/app-integrity` on a simulated iPhone: it hashes texts as the library does. */
export class AppIntegrityDouble implements AppIntegrity {
  readonly #keys = new Map<string, { privateKey: KeyObject; counter: number }>()
  readonly #app: { appId: string; extensions: { category: number; bundleVersion: string } }
  readonly #authority: AppAttestAuthority
  readonly #now: () => number
  /** The code of the next error. */
  nextError: string | undefined
  /** Key ids in the order of their generation. */
  readonly generated: string[] = []

  constructor(options: { appId: string; authority: AppAttestAuthority; now: () => number }) {
    const { appId, authority, now } = options
    this.#app = { appId, extensions: { category: 4, bundleVersion: '7.1' } }
    this.#authority = authority
    this.#now = now
  }

  async generateKeyAsync(): Promise<string> {
    this.#failOnce()
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const keyId = this.#attest(privateKey, Buffer.alloc(32)).keyId
    this.#keys.set(keyId, { privateKey, counter: 0 })
    this.generated.push(keyId)
    return keyId
  }

  async attestKeyAsync(keyId: string, challenge: string): Promise<string> {
    this.#failOnce()
    const { privateKey } = this.#key(keyId)
    return this.#attest(privateKey, sha256(challenge)).attestationObject.toString('base64')
  }

  async generateAssertionAsync(keyId: string, challenge: string): Promise<string> {
    this.#failOnce()
    const key = this.#key(keyId)
    key.counter++
    const { signature, authenticatorData } = createAppAssertion(this.#app, {
      privateKey: key.privateKey,
      counter: key.counter,
      clientDataHash: sha256(challenge),
    })
    const object = new Map([
      ['signature', signature],
      ['authenticatorData', authenticatorData],
    ])
    return encodeCbor(object).toString('base64')
  }

  /** As after a new installation of the app. */
  reinstall(): void {
    this.#keys.clear()
  }

  #attest(privateKey: KeyObject, clientDataHash: Buffer) {
    return attestKey(
      { ...this.#app, environment: 'production' },
      { authority: this.#authority, privateKey, clientDataHash, now: this.#now() },
    )
  }

  #key(keyId: string) {
    const key = this.#keys.get(keyId)
    if (key === undefined) throw coded('ERR_APP_INTEGRITY_INVALID_KEY')
    return key
  }

  #failOnce(): void {
    const code = this.nextError
    this.nextError = undefined
    if (code !== undefined) throw coded(code)
  }
}

/** An error of a native module. */
export function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
