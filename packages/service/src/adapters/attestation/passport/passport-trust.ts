/** The countries' certificates that an operator trusts, DER. */
export interface PassportTrust {
  readonly production: readonly Uint8Array[]
  /** Trusted beside them for tenants of a sandbox, and for no others. */
  readonly sandbox: readonly Uint8Array[]
}

export const NO_PASSPORT_TRUST: PassportTrust = { production: [], sandbox: [] }

/** A folder that says something which this program does not understand. All of it is told at once. */
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
