/** The budget that one request body reserves, counted for its client's network. */
export interface BodyShare {
  /** Reserves more bytes. Returns false, and reserves nothing, if they would exceed the budget. */
  readonly reserve: (bytes: number) => boolean
  /** Returns everything that this share has reserved. */
  readonly release: () => void
}

/** Bounds the memory, in bytes, that all request bodies in flight use together. */
export interface BodyBudget {
  readonly share: (network: string) => BodyShare
  /** The bytes reserved by all shares. */
  readonly reserved: () => number
}

/** The largest part for one network, so that its slow bodies leave room for all others. */
const NETWORK_PART = 1 / 4

/**
 * Creates a budget. Callers reserve bytes when they allocate buffers, never by a declared length.
 *
 * @param totalBytes the limit for all networks together
 */
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
