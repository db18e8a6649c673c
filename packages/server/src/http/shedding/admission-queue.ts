import type { ShedPriority } from '@bonded/core/ports/meter'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { FairShare } from './fair-share.ts'
import type { KnownCallers } from './known-callers.ts'
import { classify, type Classified } from './priority.ts'
import { type WaitingRequest, WaitingRequests } from './waiting-requests.ts'

/** More recent requests of a phone or page are a flood. A page makes as many reads in a minute. */
const ALLOWED_REQUESTS = 45

/** A request that the service rejects because it is overloaded. */
export interface ShedRequest extends WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface AdmissionOptions {
  /** The free part of what the store can take; 0 or less if it is full. */
  readonly free: () => number
  readonly known: KnownCallers
  /** The network of the client, which trusted proxies may name. */
  readonly networkOf: (request: IncomingMessage) => string
  readonly shed: (request: ShedRequest) => void
  readonly now?: () => number
}

export type AdmissionQueue = ReturnType<typeof queueRequests>
type Listener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Starts the requests of a turn of the event loop at its end, the most important ones first. What
 * finds no place in the queue, or waits too long, is rejected before its body is read.
 *
 * Captures the server's listeners for `request`: those that are added later run at once.
 */
export function queueRequests(server: Server, options: AdmissionOptions) {
  const { free, shed, now = () => performance.now() } = options
  const listeners = server.listeners('request') as Listener[]
  server.removeAllListeners('request')
  const waiting = new WaitingRequests<ShedRequest>()
  const callerOf = callerRanks({ ...options, now })
  let turn: NodeJS.Immediate | NodeJS.Timeout | undefined

  const start: Listener = (request, response) => {
    for (const listener of listeners) listener.call(server, request, response)
  }
  const runTurn = () => {
    const taken = waiting.take(free())
    // Before the work of this turn, which would delay the rejections.
    for (const late of waiting.expired(now())) if (!late.request.socket.destroyed) shed(late)
    if (waiting.size === 0) turn = undefined
    // Without a pause of 1 ms, the event loop would spin until the database answers.
    else turn = taken.length > 0 ? setImmediate(runTurn) : setTimeout(runTurn, 1)
    for (const { request, response } of taken)
      if (!request.socket.destroyed) start(request, response)
  }

  server.on('request', (request, response) => {
    const classified = classify(request)
    const { priority } = classified
    if (priority === 'exempt') return start(request, response)
    const arrivedMs = now()
    const entry = { ...callerOf(request, classified), request, response, priority, arrivedMs }
    if (waiting.add(entry)) turn ??= setImmediate(runTurn)
    else shed(entry)
  })
  return {
    /** How many requests wait for their turn. */
    size: () => waiting.size,
    /** Whether the service has lately rejected this priority of callers within their share. */
    isOverloaded: (priority: ShedPriority) => waiting.isShort(priority, now()),
    [Symbol.dispose]() {
      clearImmediate(turn as NodeJS.Immediate | undefined)
      clearTimeout(turn as NodeJS.Timeout | undefined)
    },
  }
}

/**
 * Ranks callers by what the service knows without a read from the store, and counts their requests.
 *
 * Only a verified server credential counts for its tenant. Phones and pages count for themselves: a
 * stranger can have a phone, and a session's id and a publishable key are public, so a stranger
 * could otherwise raise the tenant's count. A caller with neither is unknown.
 */
function callerRanks({ known, networkOf, now }: Required<AdmissionOptions>) {
  const tenants = new FairShare()
  const callers = new FairShare()
  type Caller = Pick<WaitingRequest, 'standing' | 'flow'>
  return (request: IncomingMessage, { presented, id }: Classified): Caller => {
    const verified = known.ofCredential(request.headers.authorization)
    if (presented === 'backend' && verified !== undefined) {
      tenants.count(verified.tenant, now())
      const standing = tenants.isAbove(verified.tenant) ? 'above' : 'within'
      return { standing, flow: verified.tenant }
    }
    const flow = networkOf(request)
    const tenant = verified?.tenant ?? (presented === 'backend' ? undefined : known.tenantOf(id))
    if (tenant === undefined) return { standing: 'unknown', flow }
    const count = callers.count(verified?.holder ?? id, now())
    // Otherwise the status reads of a flooding tenant would rank above its completions.
    const isAbove = count > ALLOWED_REQUESTS || tenants.isAbove(tenant)
    return { standing: isAbove ? 'above' : 'within', flow }
  }
}
