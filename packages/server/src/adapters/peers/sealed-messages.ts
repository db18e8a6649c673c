import type { Clock } from '@bonded/core/ports/clock'
import type { Keyring } from '@bonded/core/ports/keyring'
import type { NodeMessage } from '@bonded/core/ports/peers'
import { type PeerMessage, readMessage, writeMessage } from './peer-message.ts'

/**
 * More than the database keeps a message, plus the difference of two clocks. A message that was
 * withheld or copied is of no use after this time.
 */
const MAX_AGE_MS = 30_000

/**
 * Seals the messages of a node, and opens those of other nodes. The database carries them, and a
 * user of it may copy, delay or repeat rows. So the seal binds the sender, the number and the time,
 * and a message opens once, after those before it, and while it is fresh.
 */
export class SealedMessages {
  readonly #keys: Keyring
  readonly #clock: Pick<Clock, 'now'>
  /** The last opened message of each node. Only nodes with the root key can add to it. */
  readonly #opened = new Map<string, { readonly number: number; readonly at: number }>()

  constructor({ keys, clock }: { readonly keys: Keyring; readonly clock: Pick<Clock, 'now'> }) {
    this.#keys = keys
    this.#clock = clock
  }

  /** Seals a message anew for each attempt to send it, so that a late one is fresh as well. */
  seal(from: Pick<NodeMessage, 'node' | 'number'>, message: Omit<PeerMessage, 'at'>): string {
    return this.#keys.sealMessage(writeMessage({ ...message, at: this.#clock.now() }), from)
  }

  /** @returns undefined for a message that this node cannot read, and for a copy or a replay */
  open({ node, number, text }: NodeMessage): PeerMessage | undefined {
    const now = this.#clock.now()
    if (number <= (this.#opened.get(node)?.number ?? 0)) return undefined
    const opened = this.#keys.openMessage(text, { node, number })
    const message = opened === undefined ? undefined : readMessage(opened)
    if (message === undefined || Math.abs(now - message.at) > MAX_AGE_MS) return undefined
    this.#opened.set(node, { number, at: now })
    return message
  }

  /** Drops the nodes that have stopped: their messages are no longer fresh. */
  forgetStopped(): void {
    const since = this.#clock.now() - 2 * MAX_AGE_MS
    for (const [node, { at }] of this.#opened) if (at < since) this.#opened.delete(node)
  }
}
