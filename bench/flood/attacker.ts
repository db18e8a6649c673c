import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** What is attacked. */
export interface AttackedService {
  readonly port: number
  /** Sessions whose watch tokens the attacker has. */
  readonly sessions: readonly { readonly id: string; readonly watch_token: string }[]
}

/** What became of the connections and requests of an attack. */
export interface Tally {
  readonly opened: number
  /** Connections that the service closed or refused. */
  readonly closed: number
  /** How many are open at the end. */
  readonly held: number
  /** How many responses came, by status. */
  readonly statuses: Readonly<Record<string, number>>
}

/** Connections come from this many loopback addresses: more would be a botnet, one is too easy. */
const SOURCES = 40
/** The bound of one attack, below the ports that the loopback has. */
const MAX_CONNECTIONS = 20_000
/** New connections come at 500 a second: they test the caps, not how fast Node accepts. */
const BATCH = 25
const BATCH_EVERY_MS = 50
const STATUS_LINE = /HTTP\/1\.1 (\d{3}) /g

/** Opens and counts the connections of one attack, bounded in time and number. */
export class Attacker implements Disposable {
  readonly #port: number
  readonly #untilMs: number
  readonly #sockets = new Set<Socket>()
  readonly #statuses: Record<string, number> = {}
  #opened = 0
  #closed = 0

  constructor({ port, forMs }: { port: number; forMs: number }) {
    this.#port = port
    this.#untilMs = performance.now() + forMs
  }

  isOver(): boolean {
    return performance.now() >= this.#untilMs
  }

  /** Waits, but not beyond the end of the attack. */
  async pause(ms: number): Promise<void> {
    await wait(Math.max(0, Math.min(ms, this.#untilMs - performance.now())))
  }

  /** A connection whose responses are counted; undefined when the bound is reached. */
  open(): Socket | undefined {
    if (this.#opened >= MAX_CONNECTIONS) return undefined
    const source = 2 + (this.#opened % SOURCES)
    this.#opened += 1
    const socket = connect({
      host: '127.0.0.1',
      port: this.#port,
      // Only Linux accepts every address of 127.0.0.0/8 as a source without configuration.
      ...(process.platform === 'linux' ? { localAddress: `127.0.0.${source}` } : {}),
    })
    this.#sockets.add(socket)
    socket.on('data', (chunk: Buffer) => this.#count(chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#closed += this.#sockets.delete(socket) ? 1 : 0
    })
    return socket
  }

  /** Keeps so many connections open until the end: replaces those that the service closes. */
  async keepOpen(count: number, open: () => unknown): Promise<void> {
    while (!this.isOver()) {
      const missing = Math.min(BATCH, count - this.#sockets.size)
      for (let index = 0; index < missing; index++) open()
      await this.pause(BATCH_EVERY_MS)
    }
  }

  tally(): Tally {
    return {
      opened: this.#opened,
      closed: this.#closed,
      held: this.#sockets.size,
      statuses: this.#statuses,
    }
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  #count(text: string): void {
    for (const [, status = ''] of text.matchAll(STATUS_LINE))
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
  }
}
