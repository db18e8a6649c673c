import {
  SHED_PRIORITIES as PRIORITIES,
  SHED_STANDINGS as STANDINGS,
  type ShedPriority,
  type ShedStanding,
} from '@bonded/core/ports/meter'

export interface WaitingRequest {
  readonly priority: ShedPriority
  readonly standing: ShedStanding
  /** Requests of one rank are served in rotation between their flows: tenants, or networks. */
  readonly flow: string
  readonly arrivedMs: number
}

/** The most requests that a turn of the event loop starts. Each takes about 0.3 ms. */
export const REQUESTS_PER_TURN = 32
/** The most of unknown callers in a turn, so that their bursts do not make it long. */
export const UNKNOWN_PER_TURN = 8
/** The longest wait of new work. A burst that the service can absorb causes no rejection. */
export const NEW_WAIT_MS = 500
/** That of begun sessions: shorter than the 3 s after which a backend's client gives up. */
export const BEGUN_WAIT_MS = 2_000
/** How many requests of a rank can wait. It bounds the memory of their headers. */
export const PLACES = 512
/** How long after a rejection new work has fewer places: longer than a lull of overload. */
export const SHORT_FOR_MS = 10_000

/** The requests of one standing and one priority. */
interface Rank<T> {
  readonly standing: ShedStanding
  readonly isBegun: boolean
  readonly flows: Map<string, T[]>
  size: number
  /** Until when new work has only as many places as a turn starts requests. */
  shortUntilMs: number
}

/** Requests that wait. It serves them strictly by standing and then by priority. */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #ranks: readonly Rank<T>[] = STANDINGS.flatMap((standing) =>
    PRIORITIES.map((priority) => ({
      standing,
      isBegun: standing !== 'unknown' && priority === 'begun',
      flows: new Map<string, T[]>(),
      size: 0,
      shortUntilMs: Number.NEGATIVE_INFINITY,
    })),
  )
  /** How many requests of known callers were taken since the last one of an unknown caller. */
  #takenKnown = 0

  get size(): number {
    return this.#ranks.reduce((sum, { size }) => sum + size, 0)
  }

  /**
   * Adds a request, unless it finds no place. The flows of a rank share its places equally. Each
   * can have one in any case, so that no caller takes them all.
   */
  add(request: T): boolean {
    const { flow, arrivedMs } = request
    const rank = this.#ranks[indexOf(request)] as Rank<T>
    const own = rank.flows.get(flow) ?? []
    const places = !rank.isBegun && arrivedMs < rank.shortUntilMs ? REQUESTS_PER_TURN : PLACES
    if (rank.size >= PLACES || (own.length > 0 && own.length >= places / rank.flows.size)) {
      this.#reject(rank, arrivedMs)
      return false
    }
    own.push(request)
    rank.flows.set(flow, own)
    rank.size += 1
    return true
  }

  /** Removes the requests that a turn starts, by the free part of what the store can take. */
  take(free: number): readonly T[] {
    const taken: T[] = []
    while (taken.length < REQUESTS_PER_TURN * free) {
      // One place of 32 is for unknown callers, so that they can become known.
      const isReserved = this.#takenKnown >= REQUESTS_PER_TURN - 1
      const unknown = this.#ranks.find((rank) => isWaiting(rank, 'unknown'))
      const rank = (isReserved && unknown) || this.#ranks.find((rank) => isWaiting(rank))
      if (rank === undefined) break
      if (rank === unknown && !isReserved && taken.length >= UNKNOWN_PER_TURN) break
      this.#takenKnown = rank === unknown ? 0 : this.#takenKnown + 1
      // The first flow is the one that was served the longest ago.
      const [flow = ''] = rank.flows.keys()
      taken.push(...this.#remove(rank, flow, 1))
    }
    return taken
  }

  /** Removes the requests that have waited too long. */
  expired(nowMs: number): readonly T[] {
    const found: T[] = []
    // Beside a flood, a slow database shows nothing about the tenants within their share.
    const isFlooded = this.#ranks.some((rank) => isWaiting(rank, 'above'))
    for (const rank of this.#ranks) {
      const isPatient = rank.isBegun || (isFlooded && rank.standing === 'within')
      const sinceMs = nowMs - (isPatient ? BEGUN_WAIT_MS : NEW_WAIT_MS)
      for (const [flow, requests] of rank.flows) {
        const late = requests.filter(({ arrivedMs }) => arrivedMs <= sinceMs).length
        if (late === 0) continue
        found.push(...this.#remove(rank, flow, late))
        this.#reject(rank, nowMs)
      }
    }
    return found
  }

  /** Whether requests of this priority, of callers within their share, were rejected of late. */
  isShort(priority: ShedPriority, nowMs: number): boolean {
    return nowMs < (this.#ranks[indexOf({ standing: 'within', priority })]?.shortUntilMs ?? nowMs)
  }

  /** What ranks below a rank that rejects would wait even longer. */
  #reject(rank: Rank<T>, nowMs: number): void {
    for (const lower of this.#ranks.slice(this.#ranks.indexOf(rank)))
      lower.shortUntilMs = nowMs + SHORT_FOR_MS
  }

  /** Removes the oldest requests of a flow, which becomes the last one to be served again. */
  #remove(rank: Rank<T>, flow: string, count: number): readonly T[] {
    const requests = rank.flows.get(flow) ?? []
    const removed = requests.splice(0, count)
    rank.flows.delete(flow)
    if (requests.length > 0) rank.flows.set(flow, requests)
    rank.size -= removed.length
    return removed
  }
}

function indexOf({ standing, priority }: Pick<WaitingRequest, 'standing' | 'priority'>): number {
  return STANDINGS.indexOf(standing) * PRIORITIES.length + PRIORITIES.indexOf(priority)
}

function isWaiting({ standing, size }: Rank<unknown>, of = standing): boolean {
  return size > 0 && standing === of
}
