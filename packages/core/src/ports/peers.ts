/** A message of another node. */
export interface NodeMessage {
  /** The node, by an id that it has until it stops. */
  readonly node: string
  /** Counts the messages of the node. */
  readonly number: number
  readonly text: string
  /** How long ago the database received it. */
  readonly ageMs: number
}

/** Messages between the nodes that share a store. They need not survive a crash. */
export interface NodeMessages {
  /** This node, as the others see it. */
  readonly node: string
  /**
   * Sends a message to all other nodes, and returns theirs since the last call: each once, those of
   * a node in its order. A call that failed is repeated with the same number, and the others then
   * receive one of the two texts.
   */
  exchange(message: Pick<NodeMessage, 'number' | 'text'>): Promise<readonly NodeMessage[]>
}

/** A group of connections, such as those of a network, and how many of them are open. */
export type OpenConnections = readonly [group: string, open: number]

/** A part of this node that limits connections. */
export interface ConnectionLimiter {
  /** The groups whose connections the other nodes should know. */
  reported(): Iterable<OpenConnections>
  /** Closes connections of these groups that are too many together with those of other nodes. */
  closeExcess(groups: Iterable<string>): void
}

/** The other nodes that share the store, as far as this node knows of them. */
export interface Peers {
  /** How many nodes run, this one included. */
  readonly nodes: number
  /** How many connections of a group the other nodes have reported. */
  connectionsOf(group: string): number
  /** Adds a part whose connections are reported. */
  join(limiter: ConnectionLimiter): void
  /**
   * Tells the other nodes what this one has counted since the last call, and learns it from them.
   * Never rejects: without the others, the node counts alone. Absent where there are no others.
   *
   * @returns `silent` where neither this node nor another one had counted anything
   */
  readonly exchange?: () => Promise<'silent' | 'spoken' | 'failed'>
}

/** A node whose store belongs to it alone. */
export const NO_PEERS: Peers = {
  nodes: 1,
  connectionsOf: () => 0,
  join() {},
}
