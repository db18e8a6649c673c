import type { Clock } from '@bonded/core/ports/clock'
import type { Keyring } from '@bonded/core/ports/keyring'
import type { ExchangeResult, Meter } from '@bonded/core/ports/meter'
import type {
  ConnectionLimiter,
  NodeMessage,
  NodeMessages,
  OpenConnections,
  Peers,
} from '@bonded/core/ports/peers'
import type { MemoryLimiter } from '../limiter/memory-limiter.ts'
import type { PeerMessage } from './peer-message.ts'
import { SealedMessages } from './sealed-messages.ts'

/** A message has at most about 200 KB. What is left over follows in the next one. */
const MAX_BUCKETS = 2_000
const MAX_GROUPS = 1_000
/** A node that was silent for this long has stopped or cannot reach the database. */
const SILENT_MS = 5_000

interface Parts {
  readonly messages: NodeMessages
  readonly limiter: MemoryLimiter
  readonly keys: Keyring
  readonly clock: Pick<Clock, 'now'>
  readonly meter: Meter
}

/** The last known state of another node. */
interface PeerState {
  readonly heardAt: number
  readonly connections: readonly OpenConnections[]
}

/**
 * Shares limits between nodes by messages. No request waits for them: a node judges by its own
 * counters, which include what the other nodes have reported.
 */
export class SharedPeers implements Peers {
  readonly #parts: Parts
  readonly #sealed: SealedMessages
  readonly #limiters: ConnectionLimiter[] = []
  readonly #peers = new Map<string, PeerState>()
  #connections: ReadonlyMap<string, number> = new Map()
  #sent = 0
  /** A message that may not have been sent. It is repeated, so that no use counts twice. */
  #unconfirmed: (Omit<PeerMessage, 'at'> & Pick<NodeMessage, 'number'>) | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#sealed = new SealedMessages(parts)
  }

  get nodes(): number {
    return this.#peers.size + 1
  }

  connectionsOf(group: string): number {
    return this.#connections.get(group) ?? 0
  }

  join(limiter: ConnectionLimiter): void {
    this.#limiters.push(limiter)
  }

  readonly exchange: NonNullable<Peers['exchange']> = async () => {
    const { clock, messages, meter } = this.#parts
    this.#unconfirmed ??= this.#newMessage()
    const { number } = this.#unconfirmed
    const text = this.#sealed.seal({ node: messages.node, number }, this.#unconfirmed)
    let result: 'silent' | 'spoken' | 'failed'
    let counted: ExchangeResult = 'no_database'
    try {
      const received = await messages.exchange({ number, text })
      const spoken = [this.#unconfirmed, ...received.map((message) => this.#apply(message))]
      this.#unconfirmed = undefined
      result = spoken.includes(undefined) ? 'failed' : spoken.some(hasContent) ? 'spoken' : 'silent'
      counted = result === 'failed' ? 'failed' : 'ok'
    } catch {
      result = 'failed'
    }
    meter.exchangedLimits(counted)
    const silentSince = clock.now() - SILENT_MS
    for (const [node, { heardAt }] of this.#peers)
      if (heardAt < silentSince) this.#peers.delete(node)
    this.#sealed.forgetStopped()
    this.#connections = sumOf(this.#peers.values())
    this.#parts.limiter.shareAmong(this.nodes)
    for (const limiter of this.#limiters) limiter.closeExcess(this.#connections.keys())
    return result
  }

  #newMessage() {
    const connections = this.#limiters.flatMap((part) => [...part.reported()]).slice(0, MAX_GROUPS)
    return {
      number: ++this.#sent,
      use: this.#parts.limiter.takeUnsent(MAX_BUCKETS),
      connections,
    }
  }

  /** Returns undefined for a message that this node cannot read. */
  #apply(received: NodeMessage): Content | undefined {
    const { clock, limiter } = this.#parts
    const message = this.#sealed.open(received)
    if (message === undefined) return undefined
    const { node, ageMs } = received
    const sentAt = clock.now() - ageMs
    for (const use of message.use) limiter.charge(use, sentAt)
    this.#peers.set(node, { heardAt: sentAt, connections: message.connections })
    return message
  }
}

/** What a message reports. */
type Content = Pick<PeerMessage, 'use' | 'connections'>

function hasContent(message: Content | undefined): boolean {
  return message !== undefined && message.use.length + message.connections.length > 0
}

function sumOf(peers: Iterable<PeerState>): ReadonlyMap<string, number> {
  const sum = new Map<string, number>()
  for (const { connections } of peers)
    for (const [group, open] of connections) sum.set(group, (sum.get(group) ?? 0) + open)
  return sum
}
