import type { LimitName } from '@bonded/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../domain/refusal.ts'
import type { Caller, Service } from '../operations/service.ts'
import { clientNetwork, networkOf } from './client-address.ts'

/** A call to be counted. */
interface Counted {
  readonly service: Service
  readonly request: FastifyRequest
  /** Undefined where its credential is bad. */
  readonly caller: Caller | undefined
}

/** What a call is counted by, for each limit. Undefined: it is not. No caller can spend from another's bucket. */
const COUNTED_BY: Readonly<Record<LimitName, (call: Counted) => string | undefined>> = {
  create: ({ caller }) => (caller?.kind === 'backend' ? caller.credential.keyId : undefined),
  create_address({ caller, request }) {
    const address = (request.body as { end_user_address?: string }).end_user_address
    return caller?.kind === 'backend' && address !== undefined
      ? `${caller.credential.tenant.id} ${networkOf(address)}`
      : undefined
  },
  get({ caller, request }) {
    const { session_id } = request.params as { session_id: string }
    // A wrong watch token is counted apart from the right one, and a session that is not there like one that is.
    if (caller?.kind === 'browser')
      return `${session_id} ${String(request.headers['x-bond-watch'])}`
    return caller?.kind === 'phone' ? `${session_id} ${caller.device.id}` : undefined
  },
  device({ caller, request }) {
    if (caller?.kind === 'phone') return caller.device.id
    // A backend may name any device; what it asks must not keep the phone itself, or another tenant, from its turn.
    return caller?.kind === 'backend'
      ? `${caller.credential.tenant.id} ${(request.body as { device_id: string }).device_id}`
      : undefined
  },
  evidence: ({ caller, request }) =>
    caller?.kind === 'phone'
      ? `${(request.body as { session_id: string }).session_id} ${caller.device.id}`
      : undefined,
  challenge: networkOfCall,
  register: networkOfCall,
  bad_credential: networkOfCall,
}

function networkOfCall({ service, request }: Counted): string {
  return clientNetwork(request.raw, service.settings.trustedProxies)
}

/**
 * Counts a call, and tells on its answer how each limit stands: `RateLimit-Policy` and `RateLimit`, in the form of
 * draft-ietf-httpapi-ratelimit-headers. The first limit that is used up refuses.
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
    const key = COUNTED_BY[name](call)
    if (key === undefined) continue
    const limit = tenantOf(call.caller)?.limits?.[name] ?? limits[name]
    const answer = limiter.take(limit, key)
    const { granted, remaining, waitMs } = answer instanceof Promise ? await answer : answer
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

/** A bad credential is counted by where it comes from. A good one from the same place is not refused. */
export async function countBadCredential(
  call: Counted,
  refusal: Refusal,
  reply: FastifyReply,
): Promise<Refusal> {
  if (refusal.reason !== 'credential_invalid') return refusal
  return (await countCall(['bad_credential'], call, reply)) ?? refusal
}
