import type { FastifyInstance } from 'fastify'
import type { Channel } from './channel/channel.ts'
import type { Shutdown } from './operations/service.ts'

/**
 * How long requests in progress may take once the service accepts no further ones: a body may
 * arrive for ten seconds. With the longest drain, the process ends within 25 seconds.
 */
export const REQUESTS_END_MS = 11_000
/** How often the service looks for connections whose last request has been answered. */
const CLOSE_IDLE_EVERY_MS = 100

/** Announces the shutdown of a process to the parts that must know of it. */
export class ShutdownSwitch implements Shutdown {
  readonly #waiting = new AbortController()
  #isAnnounced = false

  get isAnnounced(): boolean {
    return this.#isAnnounced
  }

  get endOfWaiting(): AbortSignal {
    return this.#waiting.signal
  }

  announce(): void {
    this.#isAnnounced = true
  }

  endWaiting(): void {
    this.#waiting.abort()
  }
}

interface Draining {
  readonly app: FastifyInstance
  readonly channel: Channel
  readonly shutdown: ShutdownSwitch
  /** How long the service accepts requests and channels while it reports that it is not ready. */
  readonly drainMs: number
}

/**
 * Ends all connections, and loses no request that has arrived. First the service reports that it is
 * not ready, and still accepts everything, so that a load balancer can notice. In the second half of
 * this time it closes the channels evenly. Then it stops listening, answers waiting polls, and
 * completes the requests in progress.
 */
export async function drainConnections(draining: Draining): Promise<void> {
  const { app, channel, shutdown, drainMs } = draining
  shutdown.announce()
  closeAfterAnswer(app.server)
  if (drainMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, drainMs / 2))
    await channel.drain(drainMs / 2)
  }
  shutdown.endWaiting()
  const closed = app.close()
  // A connection becomes idle when its last request has been answered.
  const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
  const late = setTimeout(() => app.server.closeAllConnections(), REQUESTS_END_MS)
  await channel[Symbol.asyncDispose]()
  await closed
  clearInterval(idle)
  clearTimeout(late)
}

/** Ends each connection with its next response, so that proxies connect to another node. */
function closeAfterAnswer(server: FastifyInstance['server']): void {
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
}
