import { SHED_STANDINGS, type ShedStanding } from '@bonded/core/ports/meter'
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
/**
 * The longest wait of a request of a begun session: shorter than the 3 s after which a backend's
 * client gives up an attempt.
 */
export const BEGUN_WAIT_MS = 2_000
/** A wait that does not count as overload: many concurrent callers, or a slow sync of the disk. */
export const ACCEPTABLE_WAIT_MS = 100
/**
 * A lane is overloaded if for this long it has not been empty, and has served no request within the
 * acceptable wait.
 */
export const OVERLOADED_AFTER_MS = 250
/**
 * For this long after a rejection, the lane and those that rank below it are overloaded after the
 * wait of an overloaded lane: a queue is then more probably an overload than a burst, and most of
 * its requests would wait in vain.
 */
export const RELAPSE_WITHIN_MS = 10_000
/**
 * The overload of a lane of begun sessions begins only when for this long the service has served
 * nothing that ranks below it, and that of tenants within their share only when it has served no
 * tenant above it. Longer than most pauses of a database.
 */
export const LOWER_SHED_FOR_MS = 5_000
/** The work of users who have begun. What ranks below it is new work, or is repeated anyway. */
const BEGUN: readonly Priority[] = ['completion', 'attestation', 'gate']
/**
 * How many places of the database's queue a request leaves to those that rank above it. Otherwise
 * work of lower ranks fills the queue in quiet moments, and each call of a begun session, or of a
 * tenant beside a flood, waits for the next batch.
 */
const LEFT_PLACES: Readonly<Record<Standing, { readonly begun: number; readonly other: number }>> =
  {
    within: { begun: 0, other: 8 },
    above: { begun: 12, other: 16 },
    unknown: { begun: 16, other: 16 },
  }
/**
 * How many places the new work of tenants above their share leaves while their begun sessions are
 * late. A batch of 16 calls carries about two sessions from their create to their end, so more
 * creates than that would admit sessions whose later calls find no place.
 */
export const LATE_LEFT_PLACES = 28
/** With more free places than this, any request may start, unless begun sessions are late. */
export const MOST_LEFT_PLACES = 16
/**
 * The overload of a lane ends when it has rejected nothing for this long. A lane that is empty for
 * a moment is still overloaded: otherwise each moment would let another burst wait in vain.
 */
export const RECOVERED_AFTER_MS = 1_000
/**
 * It also ends when the service could have served more requests than the lane has rejected, by this
 * many. The service could have served a request of the lane instead of each request of a lower
 * rank, and about one in each millisecond in which it was idle.
 */
const RECOVERED_AFTER_SPARE = 8
/**
 * Each served request of a lower rank offsets this many rejections, because the order of rejection
 * matters more than its time.
 */
const SPARE_PER_LOWER = 4
/** The most rejections that count, so that a lane recovers soon after a long overload. */
const MAX_REJECTIONS = 256
/** All waiting requests together. It bounds the memory of their headers. */
export const MAX_WAITING = 1_024

/** The requests of one standing and one priority. */
interface Lane<T> {
  readonly isBegun: boolean
  readonly standing: Standing
  readonly leftPlaces: number
  readonly flows: Map<string, T[]>
  size: number
  /** Since when the lane was neither empty nor served a request within the acceptable wait. */
  busySinceMs: number | undefined
  /** When the overload ends, unless the lane rejects another request. */
  overloadedUntilMs: number
  /** Until when a queue is rather an overload than a burst. */
  alertUntilMs: number
  /** When a request was last served, in strict order, that should be rejected before these. */
  lowerServedMs: number
  /** Rejected requests, less those that could have been served in their place. */
  balance: number
}

/**
 * Requests that wait, by standing and then by priority. It serves strictly in this order, and
 * detects overload by time in the queue, as CoDel does: a lane whose requests have waited too long
 * for 250 ms is overloaded. Until it has rejected nothing for a second, it then has few places, and
 * its requests wait for at most 10 ms: most are rejected when they arrive.
 *
 * A pause of the database or of the disk delays all lanes alike. The lanes of begun sessions are
 * therefore overloaded only when nothing below them has been served for 5 s, and those of tenants
 * within their share only when no tenant above it has been served: new work of a flood is rejected
 * first, and their own requests wait meanwhile.
 *
 * A request can therefore be rejected only while all that was served ranks above it, and there is
 * no load threshold to configure.
 */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #lanes: readonly Lane<T>[]
  readonly #max: number
  #size = 0
  #overloadedUntilMs = NEVER
  /** Until when begun sessions of tenants above their share count as late. */
  #lateUntilMs = NEVER

  /** @param max the most requests that may wait; further ones replace those that rank last */
  constructor(max = MAX_WAITING) {
    this.#max = max
    this.#lanes = STANDINGS.flatMap((standing) =>
      PRIORITIES.map((priority) => ({
        isBegun: standing !== 'unknown' && BEGUN.includes(priority),
        standing,
        leftPlaces: LEFT_PLACES[standing][BEGUN.includes(priority) ? 'begun' : 'other'],
        flows: new Map<string, T[]>(),
        size: 0,
        busySinceMs: undefined,
        overloadedUntilMs: NEVER,
        alertUntilMs: NEVER,
        lowerServedMs: NEVER,
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

  /** How many places of the database's queue the next request leaves free. */
  leftPlaces(nowMs: number): number {
    const lane = this.#lanes.find(({ size }) => size > 0)
    if (lane === undefined) return 0
    const isPaced = lane.standing === 'above' && !lane.isBegun && nowMs < this.#lateUntilMs
    return isPaced ? LATE_LEFT_PLACES : lane.leftPlaces
  }

  /** The same as `next` among the requests of unknown callers. */
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
      const patienceMs = lane.isBegun ? BEGUN_WAIT_MS : BURST_WAIT_MS
      const waitMs = isOverloaded(lane, nowMs) ? OVERLOADED_WAIT_MS - turnMs : patienceMs
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

  /** Notes that no request waited for this many milliseconds, while `isShedding`. */
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
      lane.alertUntilMs = NEVER
    }
    this.#size = 0
    this.#lateUntilMs = NEVER
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
      // The places of unknown callers are reserved, so they say nothing about the others.
      for (let higher = from; higher < index; higher++) {
        const spared = this.#lanes[higher] as Lane<T>
        const isBesideFlood = spared.standing === 'within' && lane.standing === 'above'
        if (spared.isBegun || isBesideFlood) spared.lowerServedMs = nowMs
      }
      const waitedMs = nowMs - (request?.arrivedMs ?? nowMs)
      if (lane.isBegun && lane.standing === 'above' && waitedMs >= ACCEPTABLE_WAIT_MS)
        this.#lateUntilMs = nowMs + RELAPSE_WITHIN_MS
      if (lane.size > 0 && request !== undefined && isInTime(lane, { request, nowMs }))
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
    this.#overloadedUntilMs = nowMs + RECOVERED_AFTER_MS
    // What ranks below a lane that rejects would wait even longer.
    for (let index = this.#lanes.indexOf(lane); index < this.#lanes.length; index++)
      (this.#lanes[index] as Lane<T>).alertUntilMs = nowMs + RELAPSE_WITHIN_MS
    // The lane is not overloaded yet, because the service has just served lower ranks.
    if (nowMs >= lane.overloadedUntilMs && isSpared(lane, nowMs)) return
    lane.overloadedUntilMs = this.#overloadedUntilMs
    lane.balance = Math.min(MAX_REJECTIONS, lane.balance + count)
  }

  /** Notes that the service could have served this many requests of the lanes before `end`. */
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

function isInTime(
  { alertUntilMs }: Lane<unknown>,
  { request, nowMs }: { request: WaitingRequest; nowMs: number },
): boolean {
  const acceptableMs = nowMs < alertUntilMs ? OVERLOADED_WAIT_MS : ACCEPTABLE_WAIT_MS
  return nowMs - request.arrivedMs < acceptableMs
}

/** Whether a lane waits longer, because the service has just served what it should reject first. */
function isSpared({ lowerServedMs }: Lane<unknown>, nowMs: number): boolean {
  return nowMs < lowerServedMs + LOWER_SHED_FOR_MS
}

function isOverloaded(lane: Lane<unknown>, nowMs: number): boolean {
  const { busySinceMs, overloadedUntilMs, alertUntilMs } = lane
  if (nowMs < overloadedUntilMs) return true
  if (busySinceMs === undefined || isSpared(lane, nowMs)) return false
  const afterMs = nowMs < alertUntilMs ? OVERLOADED_WAIT_MS : OVERLOADED_AFTER_MS
  return nowMs - busySinceMs >= afterMs
}
