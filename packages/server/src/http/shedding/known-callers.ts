import { DEVICE_TOKEN, SERVER_CREDENTIAL, type SessionId, type TenantId } from '@bonded/contract'
import type { ChangeNotification } from '@bonded/core/ports/bus'

/** Enough for the callers and sessions of some minutes, in about 10 MB. */
export const MAX_ENTRIES = 65_536

/** More than the origins that all tenants of a service have together. */
const MAX_ORIGINS = 4_096
const BEARER = 'Bearer '

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
  /** The newer and the older generation of entries. A caller who returns joins the newer one. */
  #tenants = new Map<string, TenantId>()
  #earlier = new Map<string, TenantId>()
  readonly #origins = new Set<string>()

  /** @param options.digest the hash by which the store knows a credential, `Keyring.digest` */
  constructor({ digest }: { readonly digest: (credential: string) => Uint8Array }) {
    this.#digest = digest
  }

  /** Learns from a request that the service has answered with success. */
  learn(request: {
    readonly authorization: string | undefined
    readonly sessionId: SessionId | undefined
    readonly tenantId: TenantId
  }): void {
    const { authorization, sessionId, tenantId } = request
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
    const credential = this.#keyOf(authorization)
    if (credential === undefined) return
    this.#tenants.delete(credential)
    this.#earlier.delete(credential)
  }

  /** A verified credential: its tenant, and a name for its holder that is not the secret. */
  ofCredential(
    authorization: string | undefined,
  ): { readonly tenant: TenantId; readonly holder: string } | undefined {
    const holder = this.#keyOf(authorization)
    const tenant = holder === undefined ? undefined : this.#find(holder)
    return holder === undefined || tenant === undefined ? undefined : { tenant, holder }
  }

  /** The tenant of a session. */
  ofSession(id: string): TenantId | undefined {
    return this.#find(id)
  }

  /** Learns an origin whose pages may read the responses of the service. */
  learnOrigin(origin: string): void {
    if (this.#origins.has(origin)) return
    this.#origins.add(origin)
    if (this.#origins.size <= MAX_ORIGINS) return
    const [oldest] = this.#origins
    if (oldest !== undefined) this.#origins.delete(oldest)
  }

  /** Whether pages of this origin could last read a response. */
  allowsOrigin(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /** Undefined for a publishable key, which is public, and without a credential. */
  #keyOf(authorization: string | undefined): string | undefined {
    if (authorization?.startsWith(BEARER) !== true) return undefined
    const credential = authorization.slice(BEARER.length)
    return SERVER_CREDENTIAL.test(credential) || DEVICE_TOKEN.test(credential)
      ? keyOfHash(this.#digest(credential))
      : undefined
  }

  #find(key: string): TenantId | undefined {
    return this.#tenants.get(key) ?? this.#earlier.get(key)
  }

  #add(key: string, tenantId: TenantId): void {
    if (this.#tenants.get(key) === tenantId) return
    // A part of a string can keep the whole string in memory.
    const copy = Buffer.from(key, 'latin1').toString('latin1')
    this.#tenants.set(copy, tenantId)
    if (this.#tenants.size < MAX_ENTRIES / 2) return
    this.#earlier = this.#tenants
    this.#tenants = new Map()
  }
}

function keyOfHash(hash: Uint8Array): string {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('base64')
}
