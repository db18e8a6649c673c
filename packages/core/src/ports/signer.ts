/** A public Ed25519 key as a JSON Web Key (RFC 8037). */
export interface PublicJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  /** The key's thumbprint (RFC 7638). */
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

/**
 * Signs with Ed25519. The private key may be in a file, or where only another program reaches it.
 */
export interface Signer {
  /** The key that signs first, then retired ones, which still verify. */
  readonly publicKeys: readonly [PublicJwk, ...PublicJwk[]]
  /**
   * Signs with the first key. The result verifies: an adapter rejects the signature of another key.
   *
   * @throws {SignerError} if the key cannot be reached in time
   */
  sign(bytes: Uint8Array): Promise<Uint8Array>
}

/** The key could not be reached, or did not sign in time. */
export class SignerError extends Error {
  readonly code = 'signer_unavailable'
  override readonly name = 'SignerError'
}
