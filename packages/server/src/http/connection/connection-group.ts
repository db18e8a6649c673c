import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** One open connection. */
export interface Connection {
  readonly socket: Socket
  /** The narrowest network that counts it, or the address of a backend or proxy. */
  readonly network: string
  /** A trusted proxy serves many clients, so its connections count for no network. */
  readonly fromProxy: boolean
  /** Whether it has presented a valid server credential, or comes from a backend's address. */
  isBackend: boolean
  /** Every group that counts it. */
  groups: readonly ConnectionGroup[]
  /** The number of requests without a complete response. A channel is a request without end. */
  openRequests: number
  /** Undefined before the first request, and for a channel. */
  latestRequest: IncomingMessage | undefined
}

/** Connections that share a cap, such as those of one network. */
export class ConnectionGroup {
  readonly max: number
  /** The key of the network. Undefined if the group is not a network. */
  readonly network: string | undefined
  /** How many connections of the network other nodes have. */
  readonly #elsewhere: () => number
  /** Idle connections, in the order in which they became idle. */
  readonly idle = new Set<Connection>()
  size = 0

  constructor(max: number, network?: string, elsewhere: () => number = () => 0) {
    this.max = max
    this.network = network
    this.#elsewhere = elsewhere
  }

  /** How many connections there are beyond the cap, on all nodes. At most 0: none. */
  get excess(): number {
    return this.size + this.#elsewhere() - this.max
  }

  get isFull(): boolean {
    return this.excess >= 0
  }

  /** Returns the connection that has been idle the longest. */
  longestIdle(): Connection | undefined {
    return this.idle.values().next().value
  }
}
