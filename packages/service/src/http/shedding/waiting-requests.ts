import { SHED_STANDINGS, type ShedStanding } from '../../ports/meter.ts'
import { PRIORITIES, type Priority } from './priority.ts'

/**
 * How a request stands against those of other callers: within its tenant's share, above it, or of a
 * caller that the service does not know. Earlier ones are served first.
 */
export const STANDINGS = SHED_STANDINGS
export type Standing = ShedStanding

/** A request that waits for its turn. */
export interface WaitingRequest {
  readonly priority: Priority
  readonly standing: Standing
  /** Requests of one lane are served in rotation between their flows: tenants, or networks. */
  readonly flow: string
  readonly arrivedMs: number
}

/** The longest wait in a lane that is overloaded, so that a rejected caller learns it soon. */
export const OVERLOADED_WAIT_MS = 10
/** The longest wait otherwise. A burst that the service can absorb causes no rejection. */
export const BURST_WAIT_MS = 1_000
/** A wait that does not count as overload: many concurrent callers, or a slow sync of the disk. */
export const ACCEPTABLE_WAIT_MS = 100
/**
 * A lane is overloaded if for this long it has not been empty, and has served no request within the
 * acceptable wait.
 */
export const OVERLOADED_AFTER_MS = 250
/** All waiting requests together. It bounds the memory of their headers. */
export const MAX_WAITING = 1_024

/** The requests of one standing and one priority. */
interface Lane<T> {
  readonly flows: Map<string, T[]>
  size: number
  /** Since when the lane was neither empty nor served a request within the acceptable wait. */
  busySinceMs: number | undefined
  /** When the last request left. */
  leftMs: number
}

/**
 * Requests that wait, by standing and then by priority. It serves strictly in this order, and
 * rejects by time in the queue, as CoDel does: a lane whose requests have waited too long for 250 ms
 * is overloaded. Until it is empty once, its requests then wait for at most 10 ms.
 *
 * A request can therefore be rejected only while all that was served ranks above it, and there is
 * neither a load threshold to configure nor a mode that could oscillate.
 */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #lanes: readonly Lane<T>[]
  readonly #max: number
  #size = 0

  /** @param max the most requests that may wait; further ones replace those that rank last */
  constructor(max = MAX_WAITING) {
    this.#max = max
    this.#lanes = STANDINGS.flatMap(() =>
      PRIORITIES.map(() => ({
        flows: new Map<string, T[]>(),
        size: 0,
        busySinceMs: undefined,
        leftMs: Number.NEGATIVE_INFINITY,
      })),
    )
  }

  get size(): number {
    return this.#size
  }

  /** How many requests of known callers wait. */
  get knownSize(): number {
    let size = 0
    for (let index = 0; index < FIRST_UNKNOWN; index++) size += this.#lanes[index]?.size ?? 0
    return size
  }

  /**
   * Adds a request.
   *
   * @returns the request to reject for it: itself or another one, if too many wait
   */
  add(request: T): T | undefined {
    const lane = this.#laneOf(request)
    if (lane.size === 0) {
      const wasIdle = request.arrivedMs - lane.leftMs > OVERLOADED_AFTER_MS
      if (wasIdle) lane.busySinceMs = request.arrivedMs
      else lane.busySinceMs ??= request.arrivedMs
    }
    const flow = lane.flows.get(request.flow)
    if (flow === undefined) lane.flows.set(request.flow, [request])
    else flow.push(request)
    lane.size += 1
    this.#size += 1
    return this.#size > this.#max ? this.#dropLast(request.arrivedMs) : undefined
  }

  /** Removes the request to serve next: the first of the flow that was served the longest ago. */
  next(nowMs: number): T | undefined {
    return this.#nextOf(0, nowMs)
  }

  /** The same among the requests of unknown callers. */
  nextUnknown(nowMs: number): T | undefined {
    return this.#nextOf(FIRST_UNKNOWN, nowMs)
  }

  /** Removes the requests that have waited too long. */
  expired(nowMs: number): readonly T[] {
    if (this.#size === 0) return []
    const found: T[] = []
    for (const lane of this.#lanes) {
      if (lane.size === 0) continue
      const waitMs = isOverloaded(lane, nowMs) ? OVERLOADED_WAIT_MS : BURST_WAIT_MS
      for (const [flow, requests] of lane.flows) {
        let late = 0
        while (late < requests.length && nowMs - (requests[late]?.arrivedMs ?? nowMs) >= waitMs)
          late += 1
        if (late === 0) continue
        found.push(...requests.splice(0, late))
        if (requests.length === 0) lane.flows.delete(flow)
        lane.size -= late
        lane.leftMs = nowMs
        this.#size -= late
      }
    }
    return found
  }

  /** Whether a request of this priority, of a known caller within its share, would wait in vain. */
  isOverloaded(priority: Priority, nowMs: number): boolean {
    const lane = this.#lanes[PRIORITIES.indexOf(priority)]
    return lane !== undefined && isOverloaded(lane, nowMs)
  }

  /** Removes all requests. */
  clear(): void {
    for (const lane of this.#lanes) {
      lane.flows.clear()
      lane.size = 0
      lane.busySinceMs = undefined
    }
    this.#size = 0
  }

  #laneOf({ priority, standing }: T): Lane<T> {
    const index = STANDINGS.indexOf(standing) * PRIORITIES.length + PRIORITIES.indexOf(priority)
    return this.#lanes[index] as Lane<T>
  }

  #nextOf(from: number, nowMs: number): T | undefined {
    for (let index = from; index < this.#lanes.length; index++) {
      const lane = this.#lanes[index] as Lane<T>
      if (lane.size === 0) continue
      const [first] = lane.flows
      if (first === undefined) continue
      const [flow, requests] = first
      const request = requests.shift()
      lane.flows.delete(flow)
      if (requests.length > 0) lane.flows.set(flow, requests)
      lane.size -= 1
      lane.leftMs = nowMs
      // All of them were served, so the lane is not overloaded.
      if (lane.size === 0) lane.busySinceMs = undefined
      else if (request !== undefined && isInTime(request, lane, nowMs)) lane.busySinceMs = nowMs
      this.#size -= 1
      return request
    }
    return undefined
  }

  /** Removes the newest request of the longest flow of the last lane. */
  #dropLast(nowMs: number): T | undefined {
    const lane = this.#lanes.findLast(({ size }) => size > 0)
    if (lane === undefined) return undefined
    let longest: [flow: string, requests: T[]] | undefined
    for (const entry of lane.flows)
      if (longest === undefined || entry[1].length > longest[1].length) longest = entry
    const request = longest?.[1].pop()
    if (longest !== undefined && longest[1].length === 0) lane.flows.delete(longest[0])
    lane.size -= 1
    lane.leftMs = nowMs
    this.#size -= 1
    return request
  }
}

const FIRST_UNKNOWN = STANDINGS.indexOf('unknown') * PRIORITIES.length

/** In an overloaded lane every served request has waited briefly, so that proves nothing there. */
function isInTime({ arrivedMs }: WaitingRequest, lane: Lane<unknown>, nowMs: number): boolean {
  return nowMs - arrivedMs < ACCEPTABLE_WAIT_MS && !isOverloaded(lane, nowMs)
}

function isOverloaded({ busySinceMs, leftMs, size }: Lane<unknown>, nowMs: number): boolean {
  if (busySinceMs === undefined || nowMs - busySinceMs < OVERLOADED_AFTER_MS) return false
  return size > 0 || nowMs - leftMs <= OVERLOADED_AFTER_MS
}
