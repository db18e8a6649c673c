import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { networksOf } from '../domain/network.ts'
import { bareAddress } from './client-address.ts'

/**
 * How many requests of clients one turn of the event loop starts. A rejected request costs about
 * 0.3 ms, so a burst delays other requests by 3 ms a turn and not by its whole length.
 */
export const REQUESTS_PER_TURN = 8

/** Requests that wait for their turn. */
export interface RequestQueue extends Disposable {
  readonly size: () => number
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void
type Waiting = readonly [request: IncomingMessage, response: ServerResponse]

/**
 * Spreads a burst of requests over turns of the event loop, in rotation between the networks that
 * they come from. Requests on a backend's connection start at once. Without a burst no request
 * waits.
 *
 * Captures the server's listeners for `request`: those that are added later run at once.
 */
export function queueRequests(
  server: Server,
  isBackend: (socket: Socket) => boolean,
): RequestQueue {
  const listeners = server.listeners('request') as Listener[]
  server.removeAllListeners('request')
  const waiting = new Map<string, Waiting[]>()
  let size = 0
  let startedThisTurn = 0
  let turn: NodeJS.Immediate | undefined

  const start = (...[request, response]: Waiting) => {
    for (const listener of listeners) listener.call(server, request, response)
  }
  /** The oldest request of the network that was served the longest ago. */
  const next = (): Waiting | undefined => {
    const [first] = waiting
    if (first === undefined) return undefined
    const [network, requests] = first
    const request = requests.shift()
    waiting.delete(network)
    if (requests.length > 0) waiting.set(network, requests)
    size -= 1
    return request
  }
  const startTurn = () => {
    turn = undefined
    startedThisTurn = 0
    while (startedThisTurn < REQUESTS_PER_TURN) {
      const request = next()
      if (request === undefined) return
      if (request[0].socket.destroyed) continue
      startedThisTurn += 1
      start(...request)
    }
    turn = setImmediate(startTurn)
  }

  server.on('request', (request, response) => {
    if (isBackend(request.socket)) return start(request, response)
    turn ??= setImmediate(startTurn)
    if (size === 0 && startedThisTurn < REQUESTS_PER_TURN) {
      startedThisTurn += 1
      return start(request, response)
    }
    const [network] = networksOf(bareAddress(request.socket.remoteAddress ?? ''))
    const key = network?.key ?? ''
    const requests = waiting.get(key)
    if (requests === undefined) waiting.set(key, [[request, response]])
    else requests.push([request, response])
    size += 1
  })
  return {
    size: () => size,
    [Symbol.dispose]() {
      clearImmediate(turn)
      waiting.clear()
      size = 0
    },
  }
}
