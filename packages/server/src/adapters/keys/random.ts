import { randomFillSync } from 'node:crypto'
import type { Random } from '@bonded/core/ports/keyring'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** A call of the generator for 16 bytes costs as much as one for 4,096. */
const POOL_BYTES = 4_096
/** The largest multiple of 62 within a byte. Bytes from it upward would favor the first digits. */
const FAIR_BELOW = 248

/** Randomness of the operating system, from a pool whose bytes are used once and then wiped. */
export function systemRandom(): Random {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  const take = (length: number): Buffer => {
    if (used + length > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const bytes = Buffer.from(pool.subarray(used, used + length))
    pool.fill(0, used, used + length)
    used += length
    return bytes
  }
  return {
    id: () => take(16),
    base62(digits) {
      let text = ''
      while (text.length < digits) {
        for (const byte of take(digits))
          if (byte < FAIR_BELOW && text.length < digits) text += BASE62[byte % 62]
      }
      return text
    },
  }
}
