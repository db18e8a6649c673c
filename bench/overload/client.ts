import { setTimeout as pause } from 'node:timers/promises'
import { canonicalJson, isRetryableStatus, nextDelayMs, type RetryPolicy } from '@bonded/contract'
import { type Call, ConnectionPool, type Response } from './connection-pool.ts'

/** The calls of a journey that are counted apart. */
export const KINDS = [
  'create',
  'status',
  'claim',
  'evidence',
  'attest',
  'gate',
  'complete',
] as const
export type Kind = (typeof KINDS)[number]

/** What became of the calls of one kind. A call is retried as the product's clients do. */
export interface Tally {
  /** Calls, each with all its attempts. */
  offered: number
  /** Calls whose first attempt succeeded. */
  succeededAtFirst: number
  succeeded: number
  /** Attempts that the service rejected as overloaded. */
  shed: number
  /** Failed attempts by status and reason, such as `503 overloaded`. */
  readonly failedAttempts: Record<string, number>
  /** Calls that failed for good, by the status and reason of their last attempt. */
  readonly failedCalls: Record<string, number>
  readonly shedMs: number[]
  readonly admittedMs: number[]
}
export type Tallies = Readonly<Record<Kind, Tally>>

/** One call of the service, with the product's rules for its repetition. */
export interface Request {
  readonly token: string
  readonly policy: RetryPolicy
  readonly path: string
  /** Makes the body: again for each attempt, if the endpoint's rule is to rebuild it. */
  readonly body?: () => object
  readonly headers?: Readonly<Record<string, string>>
}

const OVERLOADED = '503 overloaded'
const NO_RESPONSE = 'no response'
/** At most this many figures of each kind, so that the client's own memory stays small. */
const MAX_FIGURES = 200_000

/** Calls the nodes as the product's clients do, and counts what becomes of the calls. */
export class Client {
  readonly #pools: readonly ConnectionPool[]
  #sent = 0
  #tallies = newTallies()

  /** @param ports those of the nodes; each call goes to the next one, as behind a load balancer */
  constructor(ports: readonly number[]) {
    this.#pools = ports.map((port) => new ConnectionPool(port))
  }

  /** The counts since the last call of this. */
  take(): Tallies {
    const tallies = this.#tallies
    this.#tallies = newTallies()
    return tallies
  }

  /** As a proxy has them open: Node accepts only one in a turn of its event loop. */
  async open(connections: number): Promise<void> {
    const places = Array.from({ length: connections })
    const probe: Call = { method: 'GET', path: '/health/alive', headers: {} }
    await Promise.all(this.#pools.map((pool) => Promise.all(places.map(() => pool.send(probe)))))
  }

  /**
   * Makes a call. It honors `Retry-After`, with jitter.
   *
   * @returns undefined when it failed for good
   */
  async call<T>(kind: Kind, request: Request): Promise<T | undefined> {
    const tally = this.#tallies[kind]
    tally.offered += 1
    const startedMs = performance.now()
    for (let attempt = 1; ; attempt++) {
      const response = await this.#send(request)
      if (response !== undefined && response.status < 300) {
        note(tally.admittedMs, response.ms)
        if (attempt === 1) tally.succeededAtFirst += 1
        tally.succeeded += 1
        return parse<T>(response)
      }
      const failure = failureOf(response)
      count(tally.failedAttempts, failure)
      if (failure === OVERLOADED) {
        tally.shed += 1
        note(tally.shedMs, response?.ms ?? 0)
      }
      const delayMs =
        response === undefined || isRetryableStatus(response.status)
          ? nextDelayMs(request.policy, {
              attempt,
              elapsedMs: performance.now() - startedMs,
              retryAfterMs: response?.retryAfterMs,
            })
          : undefined
      if (delayMs === undefined) {
        count(tally.failedCalls, failure)
        return undefined
      }
      await pause(delayMs)
    }
  }

  #pool(): ConnectionPool | undefined {
    return this.#pools[this.#sent++ % this.#pools.length]
  }

  async #send({ token, path, body, headers }: Request): Promise<Response | undefined> {
    const request: Call = {
      method: body === undefined ? 'GET' : 'POST',
      path: `/api/v1${path}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body && { body: canonicalJson(body()) }),
    }
    return this.#pool()
      ?.send(request)
      .catch(() => undefined)
  }
}

function failureOf(response: Response | undefined): string {
  if (response === undefined) return NO_RESPONSE
  try {
    const { error } = JSON.parse(response.body) as { error: { reason?: string; code?: string } }
    return `${response.status} ${error.reason ?? error.code}`
  } catch {
    return String(response.status)
  }
}

function parse<T>({ body }: Response): T {
  return (body === '' ? {} : JSON.parse(body)) as T
}

function note(figures: number[], figure: number): void {
  if (figures.length < MAX_FIGURES) figures.push(figure)
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

function newTallies(): Tallies {
  return Object.fromEntries(
    KINDS.map((kind): [Kind, Tally] => [
      kind,
      {
        offered: 0,
        succeededAtFirst: 0,
        succeeded: 0,
        shed: 0,
        failedAttempts: {},
        failedCalls: {},
        shedMs: [],
        admittedMs: [],
      },
    ]),
  ) as Record<Kind, Tally>
}
