import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { FairShare } from './fair-share.ts'
import type { KnownCallers } from './known-callers.ts'
import { classify, type Classified, type Priority } from './priority.ts'
import { TurnPace } from './turn-pace.ts'
import {
  MOST_LEFT_PLACES,
  type Standing,
  type WaitingRequest,
  WaitingRequests,
} from './waiting-requests.ts'

/**
 * How many requests of unknown callers one turn of the event loop starts. A request costs about
 * 0.3 ms, so a burst delays other requests by 3 ms a turn and not by its whole length.
 */
export const REQUESTS_PER_TURN = 8
/**
 * The most requests of backends and of other callers that the service knows, if they start quickly.
 * `TurnPace` decides how many between these two.
 */
export const KNOWN_REQUESTS_PER_TURN = 32

/**
 * The CPU time of an admitted request beside that of a read, roughly as the lifecycle benchmark
 * measures it. It decides only whose share is above that of others.
 */
const UNITS: Readonly<Record<Priority, number>> = {
  completion: 3,
  attestation: 5,
  gate: 1,
  create: 2,
  status: 1,
}

/**
 * Above this much recent work, a phone or the page of a session counts as flooding: three bonds
 * within seconds, or as many reads as a page makes in a minute.
 */
const ALLOWED_UNITS = 45

/** The time of a turn in which no request can start. */
const SATURATED_TURN_MS = 1

/** A request that the service rejects because it is overloaded. */
export interface ShedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly priority: Priority
  readonly standing: Standing
  readonly endpoint: Classified['endpoint']
  /** How long it has waited. */
  readonly waitedMs: number
}

export interface AdmissionOptions {
  /** How many further requests may start before they wait for the database; 0 or less for none. */
  readonly room: () => number
  /** Whether a connection has presented a valid server credential. */
  readonly isBackend: (socket: Socket) => boolean
  readonly known: KnownCallers
  /** The network of the client, which trusted proxies may name. */
  readonly networkOf: (request: IncomingMessage) => string
  /** Answers a request that is not admitted. */
  readonly shed: (request: ShedRequest) => void
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
}

/** Requests that wait for their turn. */
export interface AdmissionQueue extends Disposable {
  readonly size: () => number
  /** Whether the service now rejects requests of this priority of callers within their share. */
  readonly isOverloaded: (priority: Priority) => boolean
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

interface Entry extends WaitingRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly endpoint: Classified['endpoint']
  /** Counts admitted work; undefined for unknown callers. */
  readonly charge: ((units: number) => void) | undefined
}

/**
 * Starts a few requests in each turn of the event loop. The others wait: by standing, priority, and
 * in rotation between callers. During an overload, those that find their lane full or wait too long
 * are rejected before their body is read. Without a burst no request waits, and none is classified.
 *
 * Captures the server's listeners for `request`: those that are added later run at once.
 */
// oxlint-disable-next-line max-lines-per-function -- short functions over one queue
export function queueRequests(server: Server, options: AdmissionOptions): AdmissionQueue {
  const { isBackend, room, shed, now = () => performance.now() } = options
  const listeners = server.listeners('request') as Listener[]
  server.removeAllListeners('request')
  const waiting = new WaitingRequests<Entry>()
  const shares: Shares = { tenants: new FairShare(), callers: new FairShare() }
  let startedThisTurn = 0
  /** Requests of known callers since the last one of an unknown caller. */
  let startedKnown = 0
  /** Since when nothing waits. */
  let idleSinceMs: number | undefined
  let turn: NodeJS.Immediate | NodeJS.Timeout | undefined
  let measure: NodeJS.Immediate | undefined
  const pace = new TurnPace({ least: REQUESTS_PER_TURN, most: KNOWN_REQUESTS_PER_TURN })

  const start: Listener = (request, response) => {
    startedThisTurn += 1
    for (const listener of listeners) listener.call(server, request, response)
  }
  const reject = (entry: Entry, nowMs: number) => {
    if (!entry.request.socket.destroyed) shed({ ...entry, waitedMs: nowMs - entry.arrivedMs })
  }
  /** The next request that still has a client. */
  const next = (nowMs: number): Entry | undefined => {
    for (;;) {
      // One place of 32 is for unknown callers, so that they can become known.
      const isReserved = startedKnown >= KNOWN_REQUESTS_PER_TURN - 1
      const entry = (isReserved ? waiting.nextUnknown(nowMs) : undefined) ?? waiting.next(nowMs)
      if (entry === undefined || !entry.request.socket.destroyed) return entry
    }
  }
  /** Whether the next request may start, with room for so many. */
  const hasRoom = (places: number, nowMs: number) => places > waiting.leftPlaces(nowMs)
  /** The requests that this turn starts. */
  const take = (nowMs: number): readonly Entry[] => {
    const taken: Entry[] = []
    const places = room()
    const most = Math.min(places, waiting.knownSize > 0 ? pace.requests : REQUESTS_PER_TURN)
    while (taken.length < most) {
      if (!hasRoom(places - taken.length, nowMs)) break
      const entry = next(nowMs)
      if (entry === undefined) break
      startedKnown = entry.standing === 'unknown' ? 0 : startedKnown + 1
      taken.push(entry)
    }
    return taken
  }
  const startTurn = () => {
    turn = undefined
    startedThisTurn = 0
    const nowMs = now()
    if (waiting.size === 0) {
      idleSinceMs = room() > 0 ? nowMs : undefined
      return pace.pause()
    }
    pace.begin(nowMs)
    shares.tenants.decay(nowMs)
    shares.callers.decay(nowMs)
    const taken = take(nowMs)
    // Before the work of this turn, which would delay the rejections.
    for (const entry of waiting.expired(nowMs, pace.turnMs)) reject(entry, nowMs)
    for (const entry of taken) {
      entry.charge?.(UNITS[entry.priority])
      start(entry.request, entry.response)
    }
    schedule()
  }
  const schedule = () => {
    if (!hasRoom(room(), now())) {
      // Otherwise the event loop would spin until the database answers.
      turn = setTimeout(startTurn, SATURATED_TURN_MS)
      return
    }
    turn = setImmediate(startTurn)
    // Runs in the same turn, after all that the started requests do before they first wait.
    measure = setImmediate(() => pace.started(startedThisTurn, now()))
  }

  server.on('request', (request, response) => {
    if (turn === undefined) schedule()
    const nowMs = now()
    // During an overload all wait for the rest of the turn, so that it serves them by priority.
    const idleMs = nowMs - (idleSinceMs ?? nowMs)
    idleSinceMs = undefined
    if (waiting.isShedding(nowMs)) waiting.idle(idleMs)
    else {
      const isFree = waiting.size === 0 && startedThisTurn < REQUESTS_PER_TURN
      if ((isFree || passes(request)) && startedThisTurn + MOST_LEFT_PLACES < room())
        return start(request, response)
    }
    const classified = classify(request)
    const { priority, endpoint } = classified
    if (priority === 'exempt') return start(request, response)
    const entry = {
      ...rankOf(classified, request, { ...options, shares }),
      request,
      response,
      priority,
      endpoint,
      arrivedMs: nowMs,
    }
    const dropped = waiting.add(entry)
    if (dropped !== undefined) reject(dropped, nowMs)
  })
  /** A backend never waits behind a burst of unknown callers. */
  const passes = ({ socket }: IncomingMessage) =>
    startedThisTurn < pace.requests && isBackend(socket) && waiting.knownSize === 0
  return {
    size: () => waiting.size,
    isOverloaded: (priority) => waiting.isOverloaded(priority, now()),
    [Symbol.dispose]() {
      clearImmediate(turn as NodeJS.Immediate | undefined)
      clearTimeout(turn as NodeJS.Timeout | undefined)
      clearImmediate(measure)
      waiting.clear()
    },
  }
}

/** The recent work of tenants' backends, and of single phones and pages. */
interface Shares {
  readonly tenants: FairShare
  readonly callers: FairShare
}

/**
 * Ranks a request by what the service knows about its caller without a read from the store.
 *
 * Only a verified server credential counts for its tenant. Phones and pages count for themselves:
 * a stranger can have a phone, and a session's id and a publishable key are public, so a stranger
 * could otherwise raise the tenant's count. A caller with neither is unknown.
 */
function rankOf(
  { presented, id }: Classified,
  request: IncomingMessage,
  { known, networkOf, shares }: AdmissionOptions & { readonly shares: Shares },
): Pick<Entry, 'standing' | 'flow' | 'charge'> {
  const verified = known.ofCredential(request.headers.authorization)
  if (presented === 'backend' && verified !== undefined) {
    const { tenant } = verified
    return {
      standing: shares.tenants.isAbove(tenant) ? 'above' : 'within',
      flow: tenant,
      charge: (units) => shares.tenants.charge(tenant, units),
    }
  }
  const flow = networkOf(request)
  const tenant = verified?.tenant ?? (presented === 'backend' ? undefined : known.ofSession(id))
  if (tenant === undefined) return { standing: 'unknown', flow, charge: undefined }
  const caller = verified?.holder ?? id
  // Otherwise the status reads of a flooding tenant would rank above its completions.
  const isAbove = shares.tenants.isAbove(tenant) || shares.callers.unitsOf(caller) > ALLOWED_UNITS
  return {
    standing: isAbove ? 'above' : 'within',
    flow,
    charge: (units) => shares.callers.charge(caller, units),
  }
}
