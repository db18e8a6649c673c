import { once } from 'node:events'
import { createServer, request as forward, type IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

/** A request that waits, and its release: it resolves when the response has been sent. */
interface Held {
  readonly name: string
  readonly release: () => Promise<void>
}

/**
 * A proxy that holds every request until the test lets it pass, so a test counts round trips
 * without a clock: requests that pass together are one round trip, however long it takes.
 */
export class HeldRequests implements AsyncDisposable {
  /** The round trips for which the user waited. */
  roundTrips = 0
  /** `GET /bond` for each request that has passed, without ids and hashes. */
  readonly passed: string[] = []
  readonly #server: Server
  readonly #tunnels = new Set<Duplex>()
  #held: Held[] = []
  #changed = Promise.withResolvers<void>()

  private constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const name = nameOf(incoming)
      const release = () =>
        new Promise<void>((settle) => {
          const { url = '', method, headers } = incoming
          outgoing.on('close', settle)
          const onward = forward(url, { method, headers }, (response) => {
            outgoing.writeHead(response.statusCode ?? 502, response.headers)
            response.pipe(outgoing)
          })
          // A page that is left ends its requests.
          onward.on('error', () => outgoing.destroy())
          incoming.pipe(onward)
        })
      this.#held.push({ name, release })
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    })
    // The channel opens a tunnel. Nothing waits for it.
    this.#server.on('connect', ({ url = '' }: IncomingMessage, socket) => {
      const [host, port] = url.split(':')
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        onward.pipe(socket).pipe(onward)
      })
      for (const end of [onward, socket]) {
        this.#tunnels.add(end)
        end.on('error', () => void end.destroy())
      }
    })
  }

  static async start(): Promise<HeldRequests> {
    const proxy = new HeldRequests()
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening')
    return proxy
  }

  /** For a browser's context. */
  get proxy(): { readonly server: string } {
    const { port } = this.#server.address() as { port: number }
    return { server: `http://127.0.0.1:${port}` }
  }

  /** What waits now. */
  get waiting(): readonly string[] {
    return this.#held.map(({ name }) => name)
  }

  /** Waits until all of these are held at the same time, and lets them pass as one round trip. */
  async roundTrip(...names: readonly string[]): Promise<void> {
    this.roundTrips++
    await this.#pass(names)
  }

  /** Lets requests pass for which the user does not wait, because a screen is to be read. */
  async whileReading(...names: readonly string[]): Promise<void> {
    await this.#pass(names)
  }

  async #pass(names: readonly string[]): Promise<void> {
    while (!names.every((name) => this.waiting.includes(name))) await this.#changed.promise
    const released = this.#held.filter(({ name }) => names.includes(name))
    this.#held = this.#held.filter((held) => !released.includes(held))
    await Promise.all(released.map(({ release }) => release()))
    this.passed.push(...released.map(({ name }) => name))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#tunnels) end.destroy()
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function nameOf({ method = '', url = '' }: IncomingMessage): string {
  const path = new URL(url).pathname.replace('/api/v1', '')
  return `${method} ${path.replace(/sess_\w+/, '{id}').replace(/-[0-9a-f]{16}\b/, '-{hash}')}`
}
