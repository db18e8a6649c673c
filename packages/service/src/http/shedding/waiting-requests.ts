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
/**
 * How many requests wait in an overloaded lane. Enough that a turn never lacks work, and few enough
 * that most rejected requests have not waited at all. Every flow may have one in any case, so that
 * no caller can hold all places.
 */
export const OVERLOADED_PLACES = 8
/** The longest wait otherwise. A burst that the service can absorb causes no rejection. */
export const BURST_WAIT_MS = 1_000
/** A wait that does not count as overload: many concurrent callers, or a slow sync of the disk. */
export const ACCEPTABLE_WAIT_MS = 100
/**
 * A lane is overloaded if for this long it has not been empty, and has served no request within the
 * acceptable wait.
 */
export const OVERLOADED_AFTER_MS = 250
/**
 * The overload of a lane ends when it has rejected nothing for this long. A lane that is empty for a
 * moment is still overloaded: otherwise each moment would let another burst wait in vain.
 */
export const RECOVERED_AFTER_MS = 1_000
/**
 * It also ends when the lane has rejected less than the service could have served in its place: the
 * requests of lower ranks that it served, and about one in each millisecond in which it was idle. So
 * many more must these be.
 */
const RECOVERED_AFTER_SPARE = 8
/**
 * A served request of a lower rank counts as much as so many rejections: the order of rejection
 * matters more than its time.
 */
const SPARE_PER_LOWER = 4
/** The most rejections that count, so that a lane recovers soon after a long overload. */
const MAX_REJECTIONS = 256
/** All waiting requests together. It bounds the memory of their headers. */
export const MAX_WAITING = 1_024

/** The requests of one standing and one priority. */
interface Lane<T> {
  readonly flows: Map<string, T[]>
  size: number
  /** Since when the lane was neither empty nor served a request within the acceptable wait. */
  busySinceMs: number | undefined
  /** When the overload ends, unless the lane rejects another request. */
  overloadedUntilMs: number
  /** Rejected requests, less those that could have been served in their place. */
  balance: number
}

/**
 * Requests that wait, by standing and then by priority. It serves strictly in this order, and
 * detects overload by time in the queue, as CoDel does: a lane whose requests have waited too long
 * for 250 ms is overloaded. Until it has rejected nothing for a second, it then has few places, and
 * its requests wait for at most 10 ms: most are rejected when they arrive.
 *
 * A request can therefore be rejected only while all that was served ranks above it, and there is
 * neither a load threshold to configure nor a mode that could oscillate.
 */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #lanes: readonly Lane<T>[]
  readonly #max: number
  #size = 0
  #overloadedUntilMs = NEVER

  /** @param max the most requests that may wait; further ones replace those that rank last */
  constructor(max = MAX_WAITING) {
    this.#max = max
    this.#lanes = STANDINGS.flatMap(() =>
      PRIORITIES.map(() => ({
        flows: new Map<string, T[]>(),
        size: 0,
        busySinceMs: undefined,
        overloadedUntilMs: NEVER,
        balance: 0,
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
    const { flow, arrivedMs } = request
    lane.busySinceMs ??= arrivedMs
    const waiting = lane.flows.get(flow)
    if (waiting === undefined) lane.flows.set(flow, [request])
    else waiting.push(request)
    lane.size += 1
    this.#size += 1
    if (waiting !== undefined && lane.size > OVERLOADED_PLACES && isOverloaded(lane, arrivedMs))
      return this.#dropLast(lane, { arrivedMs, flow })
    if (this.#size <= this.#max) return undefined
    const last = this.#lanes.findLast(({ size }) => size > 0)
    return last && this.#dropLast(last, { arrivedMs, flow })
  }

  /** Removes the request to serve next: the first of the flow that was served the longest ago. */
  next(nowMs: number): T | undefined {
    return this.#nextOf(0, nowMs)
  }

  /** The same among the requests of unknown callers. */
  nextUnknown(nowMs: number): T | undefined {
    return this.#nextOf(FIRST_UNKNOWN, nowMs)
  }

  /**
   * Removes the requests that have waited too long, or will have by the next turn.
   *
   * @param turnMs how long a turn takes
   */
  expired(nowMs: number, turnMs: number): readonly T[] {
    if (this.#size === 0) return []
    const found: T[] = []
    for (const lane of this.#lanes) {
      if (lane.size === 0) continue
      const waitMs = isOverloaded(lane, nowMs) ? OVERLOADED_WAIT_MS - turnMs : BURST_WAIT_MS
      for (const [flow, requests] of lane.flows) {
        let late = 0
        while (late < requests.length && nowMs - (requests[late]?.arrivedMs ?? nowMs) >= waitMs)
          late += 1
        if (late === 0) continue
        found.push(...requests.splice(0, late))
        if (requests.length === 0) lane.flows.delete(flow)
        this.#leave(lane, late)
        this.#rejected(lane, { count: late, nowMs })
      }
    }
    return found
  }

  /** Whether a request of this priority, of a known caller within its share, would wait in vain. */
  isOverloaded(priority: Priority, nowMs: number): boolean {
    const lane = this.#lanes[PRIORITIES.indexOf(priority)]
    return lane !== undefined && isOverloaded(lane, nowMs)
  }

  /** Whether any lane has rejected requests a moment ago, so that the order of serving matters. */
  isShedding(nowMs: number): boolean {
    return nowMs < this.#overloadedUntilMs
  }

  /** Nothing waited for so long, while `isShedding`. */
  idle(ms: number): void {
    this.#spare(this.#lanes.length, ms)
  }

  /** Removes all requests. */
  clear(): void {
    for (const lane of this.#lanes) {
      lane.flows.clear()
      lane.size = 0
      lane.busySinceMs = undefined
      lane.overloadedUntilMs = NEVER
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
      this.#leave(lane, 1)
      this.#spare(index, SPARE_PER_LOWER)
      if (lane.size > 0 && request !== undefined && isInTime(request, nowMs))
        lane.busySinceMs = nowMs
      return request
    }
    return undefined
  }

  /** Removes the newest request of the longest flow, of the given one if several are as long. */
  #dropLast(
    lane: Lane<T>,
    { arrivedMs, flow }: { arrivedMs: number; flow: string },
  ): T | undefined {
    let longest = flow
    for (const [name, { length }] of lane.flows)
      if (length > (lane.flows.get(longest)?.length ?? 0)) longest = name
    const requests = lane.flows.get(longest)
    const request = requests?.pop()
    if (requests?.length === 0) lane.flows.delete(longest)
    this.#leave(lane, 1)
    if (isOverloaded(lane, arrivedMs)) this.#rejected(lane, { count: 1, nowMs: arrivedMs })
    return request
  }

  #rejected(lane: Lane<T>, { count, nowMs }: { count: number; nowMs: number }): void {
    lane.overloadedUntilMs = nowMs + RECOVERED_AFTER_MS
    lane.balance = Math.min(MAX_REJECTIONS, lane.balance + count)
    this.#overloadedUntilMs = lane.overloadedUntilMs
  }

  /** The service had capacity for so many further requests of the lanes before this one. */
  #spare(end: number, requests: number): void {
    for (let index = 0; index < end; index++) {
      const lane = this.#lanes[index] as Lane<T>
      if (lane.overloadedUntilMs === NEVER) continue
      lane.balance -= requests
      if (lane.balance > -RECOVERED_AFTER_SPARE) continue
      lane.overloadedUntilMs = NEVER
      lane.balance = 0
    }
  }

  #leave(lane: Lane<T>, count: number): void {
    lane.size -= count
    this.#size -= count
    if (lane.size === 0) lane.busySinceMs = undefined
  }
}

const NEVER = Number.NEGATIVE_INFINITY
const FIRST_UNKNOWN = STANDINGS.indexOf('unknown') * PRIORITIES.length

function isInTime({ arrivedMs }: WaitingRequest, nowMs: number): boolean {
  return nowMs - arrivedMs < ACCEPTABLE_WAIT_MS
}

function isOverloaded({ busySinceMs, overloadedUntilMs }: Lane<unknown>, nowMs: number): boolean {
  if (nowMs < overloadedUntilMs) return true
  return busySinceMs !== undefined && nowMs - busySinceMs >= OVERLOADED_AFTER_MS
}
