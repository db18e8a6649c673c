/** The certificates of issuing states (CSCA) that the operator trusts, in DER. */
export interface PassportTrust {
  readonly production: readonly Uint8Array[]
  /** Trusted in addition for sandbox tenants only. */
  readonly sandbox: readonly Uint8Array[]
}

export const NO_PASSPORT_TRUST: PassportTrust = { production: [], sandbox: [] }

/** The trust folder has unusable files. The message lists every problem. */
export class PassportTrustError extends Error {
  override readonly name = 'PassportTrustError'
  constructor(mistakes: readonly string[]) {
    super(
      [
        'The certificates for passports cannot be used:',
        ...mistakes.map((mistake) => `  ${mistake}.`),
      ].join('\n'),
    )
  }
}
