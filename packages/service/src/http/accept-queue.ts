import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { networksOf } from '../domain/network.ts'
import { bareAddress } from './client-address.ts'

/**
 * How many new connections one turn of the event loop serves. A request on a new connection costs
 * about 0.3 ms, so a burst delays other requests by 3 ms a turn and not by its whole length.
 */
export const NEW_CONNECTIONS_PER_TURN = 8

/** The members of Node's server that the types lack. */
interface PausingServer {
  pauseOnConnect: boolean
}

/** Connections that wait for their turn. */
export interface AcceptQueue extends Disposable {
  readonly size: () => number
}

/**
 * Spreads a burst of new connections over turns of the event loop, in rotation between the networks
 * that they come from. A waiting connection is paused: its bytes stay in the kernel. Without a burst
 * no connection waits.
 *
 * Captures the server's listeners for `connection`: those that are added later run at once.
 */
export function queueConnections(server: Server): AcceptQueue {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  // Otherwise Node reads up to 64 KiB of each waiting connection into memory.
  ;(server as unknown as PausingServer).pauseOnConnect = true
  const waiting = new Map<string, Socket[]>()
  let size = 0
  let servedThisTurn = 0
  let turn: NodeJS.Immediate | undefined

  const admit = (socket: Socket) => {
    for (const listener of serve) listener.call(server, socket)
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
  const startTurn = () => {
    turn = undefined
    servedThisTurn = 0
    while (servedThisTurn < NEW_CONNECTIONS_PER_TURN) {
      const socket = next()
      if (socket === undefined) return
      if (socket.destroyed) continue
      servedThisTurn += 1
      admit(socket)
    }
    turn = setImmediate(startTurn)
  }

  server.on('connection', (socket: Socket) => {
    turn ??= setImmediate(startTurn)
    if (size === 0 && servedThisTurn < NEW_CONNECTIONS_PER_TURN) {
      servedThisTurn += 1
      return admit(socket)
    }
    const [network] = networksOf(bareAddress(socket.remoteAddress ?? ''))
    const key = network?.key ?? ''
    const sockets = waiting.get(key)
    if (sockets === undefined) waiting.set(key, [socket])
    else sockets.push(socket)
    size += 1
    // A client that gives up while it waits must not crash the process.
    socket.on('error', () => {})
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
