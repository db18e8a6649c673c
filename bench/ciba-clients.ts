import { generateKeyPairSync, randomBytes, type webcrypto } from 'node:crypto'

/**
 * How a client of the peer authenticates: the cheapest method there is, and the one that FAPI
 * requires.
 */
export const CLIENT_AUTHENTICATIONS = ['client_secret_basic', 'private_key_jwt'] as const
export type ClientAuthentication = (typeof CLIENT_AUTHENTICATIONS)[number]

/** What both sides of the peer's flow share. */
export interface CibaSecrets {
  readonly clientSecret: string
  /** P-256, private. */
  readonly clientKey: webcrypto.JsonWebKey
}

/** The peer's issuer. No process resolves it. */
export const ISSUER = 'https://peer.example'

export function newCibaSecrets(): CibaSecrets {
  return { clientSecret: randomBytes(32).toString('base64url'), clientKey: newJwk() }
}

/** A new P-256 key, private. */
export function newJwk(): webcrypto.JsonWebKey {
  return {
    ...generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({ format: 'jwk' }),
    alg: 'ES256',
    use: 'sig',
  }
}
