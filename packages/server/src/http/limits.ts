import { type LimitName, PATH_IDS, parseId, WATCH_TOKEN, WATCH_HEADER } from '@bonded/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type CountedLimit,
  reservedForNewcomers,
  type Limit,
  limitOfNetwork,
  NEWCOMER_LIMIT,
} from '@bonded/core/domain/limits'
import { networksOf } from '@bonded/core/domain/network'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { Caller, Service } from '@bonded/core/operations/service'
import type { Take, Taken } from '@bonded/core/ports/limiter'
import { bareAddress, clientAddress } from './connection/client-address.ts'

/** A call that the service counts against its limits. */
export interface CountedCall {
  readonly service: Service
  readonly request: FastifyRequest
  /** Undefined if the request has no valid credential. */
  readonly caller: Caller | undefined
}

/** Returns the buckets that a call takes from, or undefined if the limit does not apply to it. */
type TakesOf = (call: CountedCall, limit: Limit) => readonly Take[] | undefined

/** The buckets of each limit. A caller cannot use up another caller's bucket. */
const TAKES_OF: Readonly<Record<LimitName, TakesOf>> = {
  create: takesOfCreate,
  create_address(call, limit) {
    const user = endUserOf(call)
    return user && takesOfNetworks(limit, user)
  },
  get({ service, caller, request }, limit) {
    const { session_id } = request.params as { session_id?: string }
    // A check of a publishable key names no session, so each network has its own bucket.
    if (caller?.kind === 'browser' && session_id === undefined)
      return takesOfCaller({ service, request, caller }, limit, `${caller.key.key} `)
    // A wrong watch token has its own bucket. Unknown sessions count like known ones.
    if (caller?.kind === 'browser') return takesOfWatcher({ service, request, caller }, limit)
    if (caller?.kind === 'phone') return bucketOf(limit, `${session_id} ${caller.device.id}`)
    // QR code images need no credential, so they must not use up the quota of pages and phones.
    return caller?.kind === 'anonymous' ? bucketOf(limit, `${session_id} qr`) : undefined
  },
  // The channel counts upgrades itself, because they reach no endpoint.
  channel: () => undefined,
  device({ caller, request }, limit) {
    if (caller?.kind === 'phone') return bucketOf(limit, caller.device.id)
    // A backend can name any device. Its calls must not use up the quota of the phone itself or of
    // another tenant.
    return caller?.kind === 'backend'
      ? bucketOf(
          limit,
          `${caller.credential.tenant.id} ${(request.body as { device_id: string }).device_id}`,
        )
      : undefined
  },
  evidence: ({ caller, request }, limit) =>
    caller?.kind === 'phone'
      ? bucketOf(
          limit,
          `${(request.body as { session_id: string }).session_id} ${caller.device.id}`,
        )
      : undefined,
  containment: (call, limit) =>
    call.caller?.kind === 'browser' ? takesOfWatcher(call, limit) : undefined,
  // Each endpoint has its own bucket, so that a backend's polls never use up its completions.
  backend: ({ caller, request }, limit) =>
    caller?.kind === 'backend'
      ? bucketOf(limit, `${caller.credential.keyId} ${endpointOf(request)}`)
      : undefined,
  block: ({ caller }, limit) =>
    caller?.kind === 'backend' ? bucketOf(limit, caller.credential.keyId) : undefined,
  // A portal must not use up the quota of its backend.
  webhook: ({ caller }, limit) =>
    caller?.kind === 'backend' || caller?.kind === 'portal'
      ? bucketOf(limit, `${caller.kind} ${caller.credential.keyId}`)
      : undefined,
  portal: ({ caller }, limit) =>
    caller?.kind === 'portal' ? bucketOf(limit, caller.credential.keyId) : undefined,
  phone: ({ caller, request }, limit) =>
    caller?.kind === 'phone'
      ? bucketOf(limit, `${caller.device.id} ${endpointOf(request)}`)
      : undefined,
  public: (call, limit) => takesOfCaller(call, limit, `${endpointOf(call.request)} `),
  consistency: takesOfCaller,
  browser: takesOfTokenHolder,
  invitation: takesOfCaller,
  challenge: takesOfCaller,
  register: takesOfCaller,
  recovery: takesOfCaller,
  // A backend reads only sessions of its own tenant, so it cannot search for those of others.
  not_found(call, limit) {
    if (call.caller?.kind === 'backend') return undefined
    if (call.caller?.kind === 'phone') return bucketOf(limit, call.caller.device.id)
    return call.caller?.kind === 'browser'
      ? takesOfTokenHolder(call, limit)
      : takesOfCaller(call, limit)
  },
  rejected: takesOfCaller,
  bad_credential: takesOfCaller,
}

/**
 * The bucket of the session and the watch token that a browser presents. A token of another form
 * can have any length, and a client can send any number of them, so they count for its network.
 */
function takesOfWatcher(call: CountedCall, limit: Limit): readonly Take[] {
  const { params, headers } = call.request
  const token = headers[WATCH_HEADER]
  if (token !== undefined && !WATCH_TOKEN.test(String(token)))
    return takesOfCaller(call, limit, 'malformed ')
  return bucketOf(limit, `${(params as { session_id: string }).session_id} ${String(token)}`)
}

/**
 * The bucket of a session for a caller that presents its watch token; for any other caller, the
 * buckets of its networks. Anyone can send invented tokens, so they must not use up the quota of
 * the users behind the same address. The token's MAC is verified without the store.
 */
function takesOfTokenHolder(call: CountedCall, limit: Limit): readonly Take[] {
  const { service, request } = call
  const id = parseId(
    PATH_IDS.session_id,
    (request.params as { session_id?: string }).session_id ?? '',
  )
  const token = String(request.headers[WATCH_HEADER])
  const isHolder =
    id !== undefined &&
    WATCH_TOKEN.test(token) &&
    service.keys.watchTokenKeyId(id, token) !== undefined
  return isHolder ? bucketOf(limit, `${id} ${token}`) : takesOfCaller(call, limit)
}

function bucketOf(limit: Limit, key: string): readonly Take[] {
  return [{ limit, key }]
}

/** The buckets of the caller's networks: for IPv6, its /64, its /56 and its /48. */
function takesOfCaller(
  { service, request }: CountedCall,
  limit: Limit,
  scope = '',
): readonly Take[] {
  const address = clientAddress(request.raw, service.settings.trustedProxies)
  return takesOfNetworks(limit, { address, scope })
}

function endpointOf(request: FastifyRequest): string {
  return request.routeOptions.config.routeName ?? 'unmatched'
}

/**
 * Returns the buckets of an address.
 *
 * @param caller the address, and the scope within which callers share its buckets
 */
export function takesOfNetworks(
  limit: CountedLimit,
  caller: { readonly address: string; readonly scope: string },
): readonly Take[] {
  return networksOf(caller.address).map((network) => ({
    limit: limitOfNetwork(limit, network),
    key: caller.scope + network.key,
  }))
}

/**
 * A create takes a unit from the bucket of its credential. If the backend names the user's address,
 * a network that the tenant has seen recently cannot use the units reserved for new networks.
 */
function takesOfCreate(call: CountedCall, limit: Limit): readonly Take[] | undefined {
  const { caller, service } = call
  if (caller?.kind !== 'backend') return undefined
  const { keyId: key } = caller.credential
  const user = endUserOf(call)
  if (user === undefined) return bucketOf(limit, key)
  const newcomer = service.limiter.take(takesOfNetworks(NEWCOMER_LIMIT, user))
  return [{ limit, key, keep: newcomer.granted ? 0 : reservedForNewcomers(limit) }]
}

/** The user's address that a backend names in a create, scoped to the tenant. */
function endUserOf({
  caller,
  request,
}: CountedCall): { address: string; scope: string } | undefined {
  const { end_user_address: address } = request.body as { end_user_address?: string }
  return caller?.kind === 'backend' && address !== undefined
    ? { address: bareAddress(address), scope: `${caller.credential.tenant.id} ` }
    : undefined
}

/**
 * Whether a limit can count a call only after its body is read, because it needs a member of the
 * body or must follow a limit that does.
 */
function needsBody(name: LimitName, { caller }: CountedCall): boolean {
  if (name === 'device') return caller?.kind === 'backend'
  return name === 'create' || name === 'create_address' || name === 'evidence'
}

interface Counting {
  readonly call: CountedCall
  readonly reply: FastifyReply
  /** Whether to count the limits that need the body, or those that do not. */
  readonly isBodyRead: boolean
}

/** Counts a call before its body is read, or after it, against the limits of that time. */
export function countAround(
  names: readonly LimitName[],
  counting: Counting,
): Rejection | undefined {
  const { call, reply, isBodyRead } = counting
  return countCall(
    names.filter((name) => needsBody(name, call) === isBodyRead),
    call,
    reply,
  )
}

/**
 * Counts a call, and reports the state of each limit in `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers). The first exhausted limit rejects the call.
 */
export function countCall(
  names: readonly LimitName[],
  call: CountedCall,
  reply: FastifyReply,
): Rejection | undefined {
  for (const name of names) {
    const counted = count(name, call, 'take')
    if (counted === undefined) continue
    report(reply, counted)
    if (!counted.taken.granted) return rejection(counted)
  }
  return undefined
}

/**
 * Rejects a call if the limit is exhausted, and counts nothing. It serves limits that count
 * failures: a call beyond them costs no lookup.
 */
export function rejectExhausted(
  name: LimitName,
  call: CountedCall,
  reply: FastifyReply,
): Rejection | undefined {
  return rejectSilently(count(name, call, 'peek'), reply)
}

/** Counts a failure. The response reports the limit only if it is exhausted. */
export function countFailure(
  name: LimitName,
  call: CountedCall,
  reply: FastifyReply,
): Rejection | undefined {
  return rejectSilently(count(name, call, 'take'), reply)
}

interface Count {
  readonly limit: Limit
  readonly taken: Taken
}

/** Returns undefined if the limit does not apply to the call. */
function count(name: LimitName, call: CountedCall, how: 'take' | 'peek'): Count | undefined {
  const { limiter, settings } = call.service
  if (settings.limits === 'off') return undefined
  const limit = tenantOf(call.caller)?.limits?.[name] ?? settings.limits[name]
  const takes = TAKES_OF[name](call, limit)
  return takes && { limit, taken: limiter[how](takes) }
}

function rejectSilently(counted: Count | undefined, reply: FastifyReply): Rejection | undefined {
  if (counted === undefined || counted.taken.granted) return undefined
  report(reply, counted)
  return rejection(counted)
}

function rejection({ limit, taken }: Count): Rejection {
  return { reason: 'rate_limited', step: limit.name, retryAfterMs: taken.waitMs }
}

function report(reply: FastifyReply, { limit, taken }: Count): void {
  const state = `"${limit.name}";r=${taken.remaining};t=${Math.ceil(taken.waitMs / 1_000)}`
  append(reply, 'ratelimit-policy', limit.policy)
  append(reply, 'ratelimit', state)
}

function append(reply: FastifyReply, header: string, value: string): void {
  const before = reply.getHeader(header)
  reply.header(header, before === undefined ? value : `${String(before)}, ${value}`)
}

function tenantOf(caller: Caller | undefined) {
  if (caller?.kind === 'backend' || caller?.kind === 'portal') return caller.credential.tenant
  return caller?.kind === 'browser' ? caller.key.tenant : undefined
}

/** Counts an invalid credential for the caller's network. Valid credentials from it still pass. */
export function countBadCredential(
  call: CountedCall,
  rejection: Rejection,
  reply: FastifyReply,
): Rejection {
  if (rejection.reason !== 'credential_invalid') return rejection
  return countCall(['bad_credential'], call, reply) ?? rejection
}
