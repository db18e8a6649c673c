import type { LimitName } from '@bonded/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type CountedLimit,
  keptForNewcomers,
  type Limit,
  limitOfNetwork,
  NEWCOMER_LIMIT,
} from '../domain/limits.ts'
import { networksOf } from '../domain/network.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Caller, Service } from '../operations/service.ts'
import type { Take } from '../ports/limiter.ts'
import { bareAddress, clientAddress } from './client-address.ts'

/** A call to be counted. */
interface Counted {
  readonly service: Service
  readonly request: FastifyRequest
  /** Undefined where its credential is invalid. */
  readonly caller: Caller | undefined
}

/** The buckets that a call takes from. Undefined: the limit does not apply to the call. */
type TakesOf = (
  call: Counted,
  limit: Limit,
) => readonly Take[] | undefined | Promise<readonly Take[] | undefined>

/** The buckets of each limit. No caller can spend from the bucket of another. */
const TAKES_OF: Readonly<Record<LimitName, TakesOf>> = {
  create: takesOfCreate,
  create_address(call, limit) {
    const user = endUserOf(call)
    return user && takesOfNetworks(limit, user)
  },
  get({ service, caller, request }, limit) {
    const { session_id } = request.params as { session_id?: string }
    // A check of a publishable key names no session: each network has its own bucket.
    if (caller?.kind === 'browser' && session_id === undefined)
      return takesOfCaller({ service, request, caller }, limit, `${caller.key.key} `)
    // A wrong watch token has its own bucket, and an unknown session is counted like a known one.
    if (caller?.kind === 'browser')
      return one(limit, `${session_id} ${String(request.headers['x-bond-watch'])}`)
    return caller?.kind === 'phone' ? one(limit, `${session_id} ${caller.device.id}`) : undefined
  },
  // Counted by the channel itself: an upgrade reaches no endpoint.
  channel: () => undefined,
  device({ caller, request }, limit) {
    if (caller?.kind === 'phone') return one(limit, caller.device.id)
    // A backend can name any device. Its calls must not use up the quota of the phone itself, nor
    // that of another tenant.
    return caller?.kind === 'backend'
      ? one(
          limit,
          `${caller.credential.tenant.id} ${(request.body as { device_id: string }).device_id}`,
        )
      : undefined
  },
  evidence: ({ caller, request }, limit) =>
    caller?.kind === 'phone'
      ? one(limit, `${(request.body as { session_id: string }).session_id} ${caller.device.id}`)
      : undefined,
  challenge: takesOfCaller,
  register: takesOfCaller,
  bad_credential: takesOfCaller,
}

function one(limit: Limit, key: string): readonly Take[] {
  return [{ limit, key }]
}

/** The networks of the caller. An IPv6 caller needs a unit of its /64, its /56 and its /48. */
function takesOfCaller({ service, request }: Counted, limit: Limit, scope = ''): readonly Take[] {
  const address = clientAddress(request.raw, service.settings.trustedProxies)
  return takesOfNetworks(limit, { address, scope })
}

/** @param of whose network it is: only callers of one scope share its buckets */
function takesOfNetworks(
  limit: CountedLimit,
  of: { readonly address: string; readonly scope: string },
): readonly Take[] {
  return networksOf(of.address).map((network) => ({
    limit: limitOfNetwork(limit, network),
    key: of.scope + network.key,
  }))
}

/**
 * A create takes a unit from the bucket of its credential. Where the backend names the user's
 * address, a network that the tenant has seen lately must leave the units of newcomers in it.
 */
async function takesOfCreate(call: Counted, limit: Limit): Promise<readonly Take[] | undefined> {
  const { caller, service } = call
  if (caller?.kind !== 'backend') return undefined
  const { keyId: key } = caller.credential
  const user = endUserOf(call)
  if (user === undefined) return one(limit, key)
  const newcomer = await service.limiter.take(takesOfNetworks(NEWCOMER_LIMIT, user))
  return [{ limit, key, keep: newcomer.granted ? 0 : keptForNewcomers(limit) }]
}

/** The address of the user for whom a backend creates a session, counted within its tenant. */
function endUserOf({ caller, request }: Counted): { address: string; scope: string } | undefined {
  const { end_user_address: address } = request.body as { end_user_address?: string }
  return caller?.kind === 'backend' && address !== undefined
    ? { address: bareAddress(address), scope: `${caller.credential.tenant.id} ` }
    : undefined
}

/**
 * Counts a call, and reports the state of each limit in `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers). The first exhausted limit rejects the call.
 */
export async function countCall(
  names: readonly LimitName[],
  call: Counted,
  reply: FastifyReply,
): Promise<Refusal | undefined> {
  const { limiter, settings } = call.service
  const { limits } = settings
  if (limits === 'off') return undefined
  let policies = ''
  let standings = ''
  let refusal: Refusal | undefined
  for (const name of names) {
    const limit = tenantOf(call.caller)?.limits?.[name] ?? limits[name]
    const found = TAKES_OF[name](call, limit)
    const takes = found instanceof Promise ? await found : found
    if (takes === undefined) continue
    const taken = limiter.take(takes)
    const { granted, remaining, waitMs } = taken instanceof Promise ? await taken : taken
    const comma = policies === '' ? '' : ', '
    policies += comma + limit.policy
    standings += `${comma}"${name}";r=${remaining};t=${Math.ceil(waitMs / 1_000)}`
    if (granted) continue
    refusal = { reason: 'rate_limited', step: name, retryAfterMs: waitMs }
    break
  }
  if (policies !== '') reply.header('ratelimit-policy', policies).header('ratelimit', standings)
  return refusal
}

function tenantOf(caller: Caller | undefined) {
  if (caller?.kind === 'backend') return caller.credential.tenant
  return caller?.kind === 'browser' ? caller.key.tenant : undefined
}

/** Counts an invalid credential for the caller's network. Valid ones from there still pass. */
export async function countBadCredential(
  call: Counted,
  refusal: Refusal,
  reply: FastifyReply,
): Promise<Refusal> {
  if (refusal.reason !== 'credential_invalid') return refusal
  return (await countCall(['bad_credential'], call, reply)) ?? refusal
}
