import { once } from 'node:events'
import { Server } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Channel } from './channel/channel.ts'
import type { Shutdown } from '@bonded/core/operations/service'

/**
 * How long requests in progress may take once the service accepts no further ones: a body may
 * arrive for ten seconds. With the longest drain, the process ends within 25 seconds.
 */
export const REQUESTS_END_MS = 11_000
/** How often the service looks for connections whose last request has its response. */
const CLOSE_IDLE_EVERY_MS = 100

/**
 * How long a connection that the service has accepted may take to send its first request. A proxy
 * sends it at once.
 */
const FIRST_REQUEST_MS = 1_000
/** More turns than a burst of new connections lasts. */
const MAX_TURNS = 1_000

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
 * not ready, and still accepts everything, so that a load balancer can notice. In the second half
 * of this time it closes the channels evenly. Then it stops listening, responds to waiting polls,
 * and completes the requests in progress and those that new connections are about to send.
 */
export async function drainConnections(draining: Draining): Promise<void> {
  const { app, channel, shutdown, drainMs } = draining
  shutdown.announce()
  closeAfterResponse(app.server)
  if (drainMs > 0)
    await Promise.all([pause(drainMs), pause(drainMs / 2).then(() => channel.drain(drainMs / 2))])
  shutdown.endWaiting()
  const ended = once(app.server, 'close')
  await stopListening(app.server)
  const late = setTimeout(() => app.server.closeAllConnections(), REQUESTS_END_MS)
  await Promise.race([ended, pause(FIRST_REQUEST_MS)])
  const closed = app.close()
  // A connection becomes idle when its last request has its response.
  const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS)
  await channel[Symbol.asyncDispose]()
  await Promise.all([closed, ended])
  clearInterval(idle)
  clearTimeout(late)
}

/**
 * Stops listening, in a turn of the event loop in which no connection has arrived: the system
 * resets the connections that wait in its queue. `http.Server.close` would also close the
 * connections whose first request has not been read yet.
 */
async function stopListening(server: FastifyInstance['server']): Promise<void> {
  let arrivals = 0
  const count = () => void arrivals++
  server.on('connection', count)
  for (let turns = 0, before = -1; turns < MAX_TURNS && arrivals !== before; turns++) {
    before = arrivals
    await turn()
    await turn()
  }
  server.off('connection', count)
  Server.prototype.close.call(server)
}

/** Ends each connection with its next response, so that proxies connect to another node. */
function closeAfterResponse(server: FastifyInstance['server']): void {
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
