import { DEVICE_TOKEN, SERVER_CREDENTIAL, type SessionId, type TenantId } from '@bonded/contract'
import { GenerationCache } from '@bonded/core/collections/generation-cache'
import type { ChangeNotification } from '@bonded/core/ports/bus'

/** Enough for the callers and sessions of some minutes, in about 10 MB. */
export const MAX_ENTRIES = 65_536
const BEARER = 'Bearer '

interface Success {
  readonly authorization: string | undefined
  readonly sessionId: SessionId | undefined
  readonly tenantId: TenantId
}

/**
 * Remembers which tenant a credential and a session belong to, from requests that succeeded on this
 * node or on another one. An overloaded service can thus tell callers apart without a read from the
 * store.
 *
 * The key of a credential is the hash of the whole secret. Its public part would let a stranger who
 * has seen the id of a key take the places of its tenant.
 */
export class KnownCallers {
  readonly #digest: (credential: string) => Uint8Array
  readonly #tenants = new GenerationCache<string, TenantId>(MAX_ENTRIES)

  /** @param options.digest the hash by which the store knows a credential, `Keyring.digest` */
  constructor({ digest }: { readonly digest: (credential: string) => Uint8Array }) {
    this.#digest = digest
  }

  /** Learns from a request that the service has answered with success. */
  learn({ authorization, sessionId, tenantId }: Success): void {
    const credential = this.#keyOf(authorization)
    if (credential !== undefined) this.#add(credential, tenantId)
    if (sessionId !== undefined) this.#add(sessionId, tenantId)
  }

  /** Learns from the change of a session, which a request on another node has caused. */
  learnChange({ sessionId, callers }: ChangeNotification): void {
    if (callers === undefined) return
    const { tenantId, tokenHash } = callers
    this.#add(sessionId, tenantId)
    if (tokenHash !== null) this.#add(keyOfHash(tokenHash), tenantId)
  }

  /** Removes a credential that the service has rejected, such as a revoked key. */
  remove(authorization: string | undefined): void {
    this.#tenants.delete(this.#keyOf(authorization) ?? '')
  }

  /** A verified credential: its tenant, and a name for its holder that is not the secret. */
  ofCredential(authorization: string | undefined) {
    const holder = this.#keyOf(authorization) ?? ''
    const tenant = this.tenantOf(holder)
    return tenant === undefined ? undefined : { tenant, holder }
  }

  /** The tenant of a session, or of the holder of a credential. */
  tenantOf(key: string): TenantId | undefined {
    return this.#tenants.peek(key)
  }

  /** Undefined for a publishable key, which is public, and without a credential. */
  #keyOf(authorization: string | undefined): string | undefined {
    const credential = authorization?.startsWith(BEARER) ? authorization.slice(BEARER.length) : ''
    return SERVER_CREDENTIAL.test(credential) || DEVICE_TOKEN.test(credential)
      ? keyOfHash(this.#digest(credential))
      : undefined
  }

  #add(key: string, tenantId: TenantId): void {
    // A copy, because a part of a string can keep the whole string in memory.
    this.#tenants.set(Buffer.from(key, 'latin1').toString('latin1'), tenantId)
  }
}

function keyOfHash(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('base64')
}
