import type { SessionId, TenantId } from '@bonded/contract'
import type { ChangeNotification } from '../../ports/bus.ts'

/** Enough for the callers and sessions of some minutes, in about 10 MB. */
export const MAX_ENTRIES = 65_536

/**
 * The public part of each kind of credential: everything but the secret. A server credential and a
 * device token name their id, and a publishable key is public as a whole.
 */
const PUBLIC_PARTS = [
  { prefix: 'Bearer sk_beta_', end: 25 },
  { prefix: 'Bearer dt_', end: 20 },
  { prefix: 'Bearer pk_beta_', end: 37 },
] as const
const TOKEN_PREFIX = 'dt_'
/** More than the origins that all tenants of a service have together. */
const MAX_ORIGINS = 4_096
const BEARER = 'Bearer '.length

/**
 * Remembers which tenant a credential and a session belong to, from requests that succeeded here
 * or, with several nodes, on another one. It answers without a read from the store, so that an
 * overloaded service can tell callers apart.
 *
 * It proves nothing: the service still verifies the credential of each request that it admits.
 */
export class KnownCallers {
  /** The entries of late, and those before them: callers who return stay among the first. */
  #tenants = new Map<string, TenantId>()
  #earlier: ReadonlyMap<string, TenantId> = new Map()
  readonly #origins = new Set<string>()

  /** Learns from a request that the service has answered with success. */
  learn(request: {
    readonly authorization: string | undefined
    readonly sessionId: SessionId | undefined
    readonly tenantId: TenantId
  }): void {
    const { authorization, sessionId, tenantId } = request
    const credential = publicPart(authorization)
    if (credential !== undefined) this.#add(credential, tenantId)
    if (sessionId !== undefined) this.#add(sessionId, tenantId)
  }

  /** Learns from the change of a session, which a request on another node has caused. */
  learnChange({ sessionId, callers }: ChangeNotification): void {
    if (callers === undefined) return
    const { tenantId, tokenId } = callers
    this.#add(sessionId, tenantId)
    if (tokenId !== null) this.#add(`${TOKEN_PREFIX}${tokenId}`, tenantId)
  }

  /** The tenant that this credential last worked for. */
  ofCredential(authorization: string | undefined): TenantId | undefined {
    const credential = publicPart(authorization)
    return credential === undefined ? undefined : this.#find(credential)
  }

  /** The tenant of a session. */
  ofSession(id: string): TenantId | undefined {
    return this.#find(id)
  }

  /** Learns an origin whose pages may read the answers of the service. */
  learnOrigin(origin: string): void {
    if (this.#origins.has(origin)) return
    this.#origins.add(origin)
    if (this.#origins.size <= MAX_ORIGINS) return
    const [oldest] = this.#origins
    if (oldest !== undefined) this.#origins.delete(oldest)
  }

  /** Whether pages of this origin could last read an answer. */
  allowsOrigin(origin: string): boolean {
    return this.#origins.has(origin)
  }

  #find(key: string): TenantId | undefined {
    return this.#tenants.get(key) ?? this.#earlier.get(key)
  }

  #add(key: string, tenantId: TenantId): void {
    if (this.#tenants.get(key) === tenantId) return
    // A part of a string can keep the whole string in memory, here with its secret.
    const copy = Buffer.from(key, 'latin1').toString('latin1')
    this.#tenants.set(copy, tenantId)
    if (this.#tenants.size < MAX_ENTRIES / 2) return
    this.#earlier = this.#tenants
    this.#tenants = new Map()
  }
}

function publicPart(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  for (const { prefix, end } of PUBLIC_PARTS)
    if (authorization.startsWith(prefix)) return authorization.slice(BEARER, end)
  return undefined
}
