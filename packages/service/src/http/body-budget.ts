/** Bytes of request bodies that are held in memory, for one network. */
export interface BodyShare {
  /** Reserves so many more bytes. False: they would exceed the budget, and nothing was reserved. */
  readonly reserve: (bytes: number) => boolean
  /** Returns all that this share has reserved. */
  readonly release: () => void
}

/** The bytes that all request bodies in flight may hold together. */
export interface BodyBudget {
  readonly share: (network: string) => BodyShare
  /** How many bytes are reserved, by all shares. */
  readonly reserved: () => number
}

/** What one network may hold of the budget: slow bodies from one place must leave room for all others. */
const NETWORK_PART = 1 / 4

/** A budget of so many bytes. Bytes are reserved as buffers are allocated, never by a declared length. */
export function bodyBudget(totalBytes: number): BodyBudget {
  const byNetwork = new Map<string, number>()
  const networkBytes = totalBytes * NETWORK_PART
  let reserved = 0
  return {
    reserved: () => reserved,
    share(network) {
      let own = 0
      return {
        reserve(bytes) {
          const ofNetwork = byNetwork.get(network) ?? 0
          if (reserved + bytes > totalBytes || ofNetwork + bytes > networkBytes) return false
          reserved += bytes
          own += bytes
          byNetwork.set(network, ofNetwork + bytes)
          return true
        },
        release() {
          const left = (byNetwork.get(network) ?? 0) - own
          if (left > 0) byNetwork.set(network, left)
          else byNetwork.delete(network)
          reserved -= own
          own = 0
        },
      }
    },
  }
}
