import { GenerationCache } from '@bonded/core/collections/generation-cache'
import { bytesToHex } from '@noble/hashes/utils.js'

const MAX_RESULTS = 20_000

/**
 * A pure function of bytes that computes a result once: the games of one seed repeat most
 * signatures, which cost more than the rest of a game.
 */
export function remembered<Result extends object | boolean>(
  compute: (...parts: Uint8Array[]) => Result,
): (...parts: Uint8Array[]) => Result {
  const results = new GenerationCache<string, Result>(MAX_RESULTS)
  return (...parts) => {
    const key = parts.map(bytesToHex).join()
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(...parts)
    results.set(key, result)
    return result
  }
}
