import type { Instant } from '../domain/session.ts'

/**
 * When each server credential was last used, until it is stored. A call only writes to memory. It
 * has as many entries as there are credentials in use, because only valid ones are noted.
 */
export class CredentialUse {
  #uses = new Map<string, Instant>()

  note(keyId: string, at: Instant): void {
    this.#uses.set(keyId, at)
  }

  /** Notes a use that could not be stored, unless there was a later one. */
  restore(keyId: string, at: Instant): void {
    if (!this.#uses.has(keyId)) this.#uses.set(keyId, at)
  }

  /** Returns the uses since the last call, and removes them. */
  take(): ReadonlyMap<string, Instant> {
    const taken = this.#uses
    this.#uses = new Map()
    return taken
  }
}
