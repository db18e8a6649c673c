import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * How many new connections one turn of the event loop serves. A request on a new connection costs
 * about 0.3 ms, so a burst delays other requests by 3 ms a turn and not by its whole length.
 */
export const NEW_CONNECTIONS_PER_TURN = 8

/**
 * The longest hold of new connections while further ones arrive. Longer than Node takes to accept
 * 500 connections, and short beside the time that a phone takes to connect.
 */
export const MAX_HOLD_MS = 100

export interface AcceptQueueOptions {
  /** The network of a connection. Networks are served in rotation. */
  readonly networkOf: (socket: Socket) => string
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number
}

/** Connections that wait for their turn. */
export interface AcceptQueue extends Disposable {
  readonly size: () => number
}

/** The members of Node's server that the types lack. */
interface PausingServer {
  pauseOnConnect: boolean
}

/**
 * Spreads a burst of new connections over turns of the event loop, in rotation between the networks
 * that they come from. A waiting connection is paused: its bytes stay in the kernel.
 *
 * Node accepts one connection per turn, and the kernel's queue is first in, first out, so the last
 * connection waits for as many turns as the burst is long. While connections arrive in consecutive
 * turns, the queue therefore holds them, which keeps these turns short. A turn without a new
 * connection ends the hold, and so does `MAX_HOLD_MS`. Without a burst no connection waits longer
 * than the rest of its turn.
 *
 * Captures the server's listeners for `connection`: those that are added later run at once.
 */
export function queueConnections(
  server: Server,
  { networkOf, now = () => performance.now() }: AcceptQueueOptions,
): AcceptQueue {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  // Otherwise Node reads up to 64 KiB of each waiting connection into memory. Node's types declare
  // the option for the constructor only, and fastify creates the server.
  ;(server as unknown as PausingServer).pauseOnConnect = true
  const waiting = new Map<string, Socket[]>()
  let size = 0
  let hasArrival = false
  /** The number of turns in a row that accepted a connection. */
  let turnsWithArrival = 0
  /** The start of the hold. Stays until the queue is empty: no connection waits for two holds. */
  let heldSinceMs: number | undefined
  let turn: NodeJS.Immediate | undefined

  const serve = (socket: Socket) => {
    for (const listener of listeners) listener.call(server, socket)
    socket.resume()
  }
  /** The oldest connection of the network that was served the longest ago. */
  const next = (): Socket | undefined => {
    const [first] = waiting
    if (first === undefined) return undefined
    const [network, sockets] = first
    const socket = sockets.shift()
    waiting.delete(network)
    if (sockets.length > 0) waiting.set(network, sockets)
    size -= 1
    return socket
  }
  const serveSome = () => {
    let served = 0
    while (served < NEW_CONNECTIONS_PER_TURN) {
      const socket = next()
      if (socket === undefined) return
      if (socket.destroyed) continue
      served += 1
      serve(socket)
    }
  }
  const isHeld = (): boolean => {
    // A lone connection must not wait. The second turn shows whether further ones arrive.
    if (turnsWithArrival < 2) return false
    heldSinceMs ??= now()
    return now() - heldSinceMs < MAX_HOLD_MS
  }
  const endTurn = () => {
    turnsWithArrival = hasArrival ? turnsWithArrival + 1 : 0
    hasArrival = false
    if (!isHeld()) serveSome()
    if (size === 0) heldSinceMs = undefined
    turn = size > 0 || turnsWithArrival > 0 ? setImmediate(endTurn) : undefined
  }

  server.on('connection', (socket: Socket) => {
    // The connection caps have rejected it.
    if (socket.destroyed) return
    turn ??= setImmediate(endTurn)
    hasArrival = true
    // A client that gives up while it waits must not crash the process.
    socket.on('error', ignore)
    const network = networkOf(socket)
    const sockets = waiting.get(network)
    if (sockets === undefined) waiting.set(network, [socket])
    else sockets.push(socket)
    size += 1
  })
  return {
    size: () => size,
    [Symbol.dispose]() {
      clearImmediate(turn)
      for (const sockets of waiting.values()) for (const socket of sockets) socket.destroy()
      waiting.clear()
      size = 0
    },
  }
}

function ignore(): void {}
