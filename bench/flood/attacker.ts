import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

/** The target of the attack. */
export interface AttackedService {
  readonly port: number
  /** The key of the tenant's pages. Like every publishable key, the attacker knows it. */
  readonly publishableKey: string
  /** Sessions whose watch tokens the attacker has. */
  readonly sessions: readonly { readonly id: string; readonly watch_token: string }[]
}

/** The results of an attack, by connection and request. */
export interface Tally {
  readonly opened: number
  /** Connections that the service closed or refused. */
  readonly closed: number
  /** Connections open at the end. */
  readonly held: number
  /** Responses by status. */
  readonly statuses: Readonly<Record<string, number>>
}

/**
 * The attacker connects from this many loopback addresses. More would be a botnet, and one is too
 * easy.
 */
const SOURCES = 40
/** The limit of one attack, below the number of ports that the loopback interface has. */
const MAX_CONNECTIONS = 20_000
/**
 * The attacker opens 500 connections a second: the benchmark tests the caps, not how fast Node
 * accepts.
 */
const BATCH = 25
const BATCH_EVERY_MS = 50
const STATUS_LINE = /HTTP\/1\.1 (\d{3}) /g

/** Opens and counts the connections of one attack, within limits of time and number. */
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

  /** Waits, but never longer than the attack lasts. */
  async pause(ms: number): Promise<void> {
    await wait(Math.max(0, Math.min(ms, this.#untilMs - performance.now())))
  }

  /** Opens a connection and counts its responses; undefined at the limit. */
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

  /** Keeps this many connections open until the end, and replaces those that the service closes. */
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
