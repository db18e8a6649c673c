import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type BlockList, isIPv4, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionLimits } from '@bonded/core/domain/connection-limits'
import { networksOf } from '@bonded/core/domain/network'
import type { ConnectionCounts } from '@bonded/core/ports/meter'
import type { ConnectionLimiter, OpenConnections, Peers } from '@bonded/core/ports/peers'
import {
  bareAddress,
  clientAddress,
  isTrustedProxy,
  type TrustedProxies,
} from './client-address.ts'
import { type Connection, ConnectionGroup } from './connection-group.ts'

const MS_A_SECOND = 1_000
/** A client that closes as late as the header says must still find the connection open. */
const CLOSING_MARGIN_MS = 1_000

/** Other nodes learn of a network that has this part of its cap. Most networks never do. */
const REPORTED_PART = 1 / 8
const NETWORK_GROUP = 'network '

declare module 'fastify' {
  interface FastifyInstance {
    readonly connectionCaps: ConnectionCaps
  }
}

export interface ConnectionCapsOptions {
  readonly limits: ConnectionLimits
  readonly trustedProxies: TrustedProxies
  /** Addresses whose connections are a backend's before they present a credential. */
  readonly backendAddresses: BlockList | undefined
  /** The nodes that share the caps of networks. */
  readonly peers: Peers
  /** How many connections the operating system allows. Undefined if it is unknown. */
  readonly systemLimit: number | undefined
}

/**
 * Caps the open connections per network and in total, with a reserve for backends. The cap of a
 * network counts the connections that other nodes have reported.
 *
 * A connection is anonymous until it has presented a valid server credential. When the anonymous
 * connections fill their part, each new connection uses the reserve, and the service closes the
 * anonymous connection that has been idle the longest. A backend can therefore always connect: its
 * request identifies it as a backend before later connections evict it.
 */
export class ConnectionCaps implements ConnectionLimiter {
  readonly #options: ConnectionCapsOptions
  readonly #connections = new Map<Duplex, Connection>()
  readonly #networks = new Map<string, ConnectionGroup>()
  readonly #all: ConnectionGroup
  readonly #anonymous: ConnectionGroup
  readonly #onClose: (this: Socket) => void
  #rejected = 0
  #evicted = 0

  constructor(options: ConnectionCapsOptions) {
    const { limits, systemLimit = limits.total } = options
    this.#options = options
    const total = Math.min(limits.total, systemLimit)
    const reserve = Math.min(limits.reserve, Math.floor(total / 2))
    this.#all = new ConnectionGroup(total)
    this.#anonymous = new ConnectionGroup(total - reserve)
    options.peers.join(this)
    // One listener for all connections, of which each would otherwise have a closure.
    const closed = (socket: Socket) => this.#closed(socket)
    this.#onClose = function onClose() {
      closed(this)
    }
  }

  /** The open connections, and the totals that the caps closed. */
  get counts(): ConnectionCounts {
    return { open: this.#connections.size, rejected: this.#rejected, evicted: this.#evicted }
  }

  *reported(): Iterable<OpenConnections> {
    for (const [network, { size, max }] of this.#networks)
      if (size >= max * REPORTED_PART) yield [NETWORK_GROUP + network, size]
  }

  /** Closes idle connections only, and leaves this node its share of the cap. */
  closeExcess(names: Iterable<string>): void {
    for (const name of names) {
      if (!name.startsWith(NETWORK_GROUP)) continue
      const group = this.#networks.get(name.slice(NETWORK_GROUP.length))
      if (group === undefined) continue
      const share = Math.ceil(group.max / this.#options.peers.nodes)
      for (let left = Math.min(group.excess, group.size - share); left > 0; left--) {
        const victim = group.longestIdle()
        if (victim === undefined) break
        this.#evict(victim)
      }
    }
  }

  /** Counts the connections of a server, and closes those beyond the caps. */
  watch(server: Server): void {
    // Before all other listeners, so that a rejected connection costs little.
    server.prependListener('connection', (socket: Socket) => this.#open(socket))
    server.prependListener('request', (request, response) => this.#begin(request, response))
    server.prependListener('upgrade', (request: IncomingMessage) => this.#upgrade(request))
  }

  /** Moves a connection that has presented a valid server credential into the reserve. */
  recognizeBackend(socket: Duplex): void {
    const connection = this.#connections.get(socket)
    // The next request on a proxy's connection can come from another client.
    if (connection === undefined || connection.isBackend || connection.fromProxy) return
    this.#leave(connection)
    connection.isBackend = true
    this.#join(connection, [this.#all])
  }

  /** Whether a connection has presented a valid server credential. */
  isBackend(socket: Duplex): boolean {
    return this.#connections.get(socket)?.isBackend ?? false
  }

  /** How long a connection stays open without a request. The header `Keep-Alive` says it. */
  idleSecondsOf(socket: Duplex): number {
    return this.#idleSeconds(this.#connections.get(socket))
  }

  #idleSeconds(connection: Connection | undefined): number {
    const { idle_seconds, backend_idle_seconds, proxy_idle_seconds } = this.#options.limits
    if (connection?.fromProxy) return proxy_idle_seconds
    return connection?.isBackend ? backend_idle_seconds : idle_seconds
  }

  /** The narrowest network that counts a connection, or the address of a backend or proxy. */
  networkOf(socket: Duplex): string {
    return this.#connections.get(socket)?.network ?? ''
  }

  /** Whether a connection may become a channel. Anonymous channels never use the reserve. */
  admitsChannel(socket: Duplex): boolean {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return false
    return connection.groups.every((group) => group.excess <= 0)
  }

  #open(socket: Socket): void {
    const { trustedProxies, backendAddresses } = this.#options
    const address = bareAddress(socket.remoteAddress ?? '')
    const isBackend = backendAddresses?.check(address, isIPv4(address) ? 'ipv4' : 'ipv6') ?? false
    const fromProxy = isTrustedProxy(address, trustedProxies)
    const networks = isBackend || fromProxy ? [] : this.#networksOf(address)
    // `concat` makes an array without room for more, of which there would be one per connection.
    const groups = isBackend ? [this.#all] : networks.concat(this.#anonymous, this.#all)
    if (!this.#makeRoom(groups)) {
      this.#rejected += 1
      socket.destroy()
      return
    }
    const connection: Connection = {
      socket,
      network: networks[0]?.network ?? address,
      fromProxy,
      isBackend,
      groups: [],
      openRequests: 0,
      latestRequest: undefined,
    }
    this.#connections.set(socket, connection)
    this.#join(connection, groups)
    socket.on('close', this.#onClose)
  }

  /** Evicts a connection from each full group. Returns false if that makes no room. */
  #makeRoom(groups: readonly ConnectionGroup[]): boolean {
    for (const group of groups) {
      if (!group.isFull) continue
      const victim = group === this.#all ? this.#leastUseful() : group.longestIdle()
      if (victim !== undefined) this.#evict(victim)
      // If no anonymous connection is idle, the new one uses the reserve.
      else if (group !== this.#anonymous) return false
    }
    return true
  }

  /** Prefers an idle client, then a client with an unfinished request, then an idle backend. */
  #leastUseful(): Connection | undefined {
    const idle = this.#anonymous.longestIdle()
    if (idle !== undefined) return idle
    for (const connection of this.#connections.values()) {
      const { isBackend, latestRequest } = connection
      if (!isBackend && latestRequest?.complete === false) return connection
    }
    return this.#all.longestIdle()
  }

  #evict(connection: Connection): void {
    this.#evicted += 1
    this.#remove(connection)
    connection.socket.destroy()
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) return
    this.#addRequest(connection)
    connection.latestRequest = request
    response.once('close', () => this.#end(connection))
  }

  #end(connection: Connection): void {
    connection.openRequests -= 1
    // The reference would keep the last request of an idle connection in memory.
    if (connection.openRequests === 0) connection.latestRequest = undefined
    if (connection.openRequests > 0 || !this.#connections.has(connection.socket)) return
    for (const group of connection.groups) group.idle.add(connection)
    // Overrides the idle time-out for clients, which Node has just set.
    connection.socket.setTimeout(this.#idleSeconds(connection) * MS_A_SECOND + CLOSING_MARGIN_MS)
  }

  /** Counts a channel behind a proxy for the network of the client that the proxy names. */
  #upgrade(request: IncomingMessage): void {
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) return
    this.#addRequest(connection)
    connection.latestRequest = undefined
    if (!connection.fromProxy) return
    const address = clientAddress(request, this.#options.trustedProxies)
    this.#join(connection, [...connection.groups, ...this.#networksOf(address)])
  }

  #addRequest(connection: Connection): void {
    connection.openRequests += 1
    for (const group of connection.groups) group.idle.delete(connection)
  }

  #networksOf(address: string): ConnectionGroup[] {
    const { limits, peers } = this.#options
    const elsewhere = (key: string) => () => peers.connectionsOf(NETWORK_GROUP + key)
    return networksOf(address).map(
      ({ key, quotas }) =>
        this.#networks.get(key) ??
        new ConnectionGroup(quotas * limits.network, key, elsewhere(key)),
    )
  }

  #join(connection: Connection, groups: readonly ConnectionGroup[]): void {
    for (const group of groups) {
      if (!connection.groups.includes(group)) group.size += 1
      if (connection.openRequests === 0) group.idle.add(connection)
      if (group.network !== undefined) this.#networks.set(group.network, group)
    }
    connection.groups = groups
  }

  #leave(connection: Connection): void {
    for (const group of connection.groups) {
      group.size -= 1
      group.idle.delete(connection)
      if (group.network !== undefined && group.size === 0) this.#networks.delete(group.network)
    }
    connection.groups = []
  }

  #closed(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) this.#remove(connection)
  }

  #remove(connection: Connection): void {
    this.#connections.delete(connection.socket)
    this.#leave(connection)
  }
}
