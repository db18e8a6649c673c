import type { Reason } from './errors.ts'
import type { LimitName } from './limits.ts'
import type { Route } from './client/route.ts'
import type { TSchema } from './schemas/type.ts'

/**
 * Who may call: the tenant's backend (`sk_`), a browser (`pk_`), a phone (`dt_`), the portal of
 * webhooks (`wpt_`), or an anonymous caller.
 */
export type Caller = 'backend' | 'browser' | 'phone' | 'portal' | 'anonymous'

/**
 * What a request is worth during an overload, the most valuable first: the work of users who have
 * begun, or new work, which includes what callers repeat anyway.
 */
export const SHED_PRIORITIES = ['begun', 'new'] as const
export type ShedPriority = (typeof SHED_PRIORITIES)[number]
/** The kind of credential that a request presents, before the service has verified it. */
export type Presented = 'backend' | 'phone' | 'other'

/** When an endpoint was deprecated, and when it may end: dates such as `2027-01-31`, in UTC. */
export interface Deprecation {
  readonly since: string
  readonly sunset: string
  /** The page that says what to call in its place. */
  readonly link: string
}

/** One endpoint. The router, the clients and the OpenAPI document are derived from it. */
export interface Endpoint extends Route {
  readonly summary: string
  /**
   * What a request is worth during an overload. `exempt`: probes of the process itself, which must
   * work then.
   */
  readonly priority: ShedPriority | 'exempt' | Readonly<Record<Presented, ShedPriority>>
  readonly deprecation?: Deprecation
  readonly callers: readonly Caller[]
  /**
   * No tenant's page may call it: the request has no Origin, or, from a phone, the service's own.
   * The service enforces the same for every request with a device token.
   */
  readonly ownOriginOnly?: true
  /** The service's frame in a tenant's page may call it too, from the service's own origin. */
  readonly serviceFrame?: true
  /** Accepts an expired device token: it identifies the device, and the request proves the key. */
  readonly acceptsExpiredToken?: true
  /** The limits that count a call, in this order. The first that is used up rejects the call. */
  readonly limits: readonly LimitName[]
  readonly params?: TSchema
  readonly query?: TSchema
  readonly headers?: TSchema
  /** Absent: the endpoint takes no body, or an empty object. */
  readonly body?: {
    readonly schema: TSchema
    readonly optional?: boolean
    readonly limitBytes: number
  }
  /** The response schemas. With several, the caller's role selects one. Absent: no body. */
  readonly responses?: { readonly [name: string]: TSchema }
  /** The endpoint's own reasons, in addition to those of every endpoint of its kind. */
  readonly rejections: readonly Reason[]
}

/** What a row of the table may leave out: the status 200, and that a GET can be repeated. */
type Row = Omit<Endpoint, 'status' | 'retry'> &
  Partial<Pick<Endpoint, 'status' | 'retry'>> &
  ({ readonly method: 'GET' } | Pick<Endpoint, 'retry'>)

/** An endpoint, with the exact types of its members. */
export function define<const E extends Row>(row: E): E & Pick<Endpoint, 'status' | 'retry'> {
  return { status: 200, retry: 'repeat', ...row }
}
