/** The revocation list of attestation certificates. */
export interface RevocationList {
  /**
   * Checks all serial numbers of a chain (lower-case hex without leading zeros).
   *
   * @returns `unknown` when the list is too old to report `good`; callers must reject `unknown`.
   *   Never rejects, and takes no longer than one fetch.
   */
  check(serials: readonly string[]): Promise<'good' | 'revoked' | 'unknown'>
}
