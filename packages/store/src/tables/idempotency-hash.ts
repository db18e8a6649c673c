import { hash } from 'node:crypto'

/**
 * Half of SHA-256. Finding another key with the hash of a given one takes 2^128 attempts, and a
 * tenant that finds two keys of its own with one hash only gets one session for both.
 */
const HASH_BYTES = 16

/**
 * The stored form of an Idempotency-Key, for its tenant alone. A tenant's id has no line break, so
 * two tenants never share a hash.
 */
export function idempotencyHash(tenantId: string, key: string): Uint8Array {
  const digits = hash('sha256', `${tenantId}\n${key}`, 'binary')
  return Buffer.from(digits, 'binary').subarray(0, HASH_BYTES)
}
