/** The certificates of attestation keys that have leaked or turned out bad. */
export interface RevocationList {
  /**
   * Judges all serial numbers of a chain (lower-case hex without leading zeros). `unknown` when the list is too old
   * to say `good`: unknown means no. Never throws, and takes no longer than one fetch.
   */
  judge(serials: readonly string[]): Promise<'good' | 'revoked' | 'unknown'>
}
