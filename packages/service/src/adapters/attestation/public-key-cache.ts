import type { KeyObject } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import type { Device } from '../../domain/session.ts'

/**
 * The number of key objects cached. Creating one costs twice as much as a verification.
 */
const MAX_CACHED_KEYS = 5_000
const cache = new Map<string, KeyObject>()

/**
 * Returns the key object of a device, or undefined where Node cannot read the stored key. The key of
 * a key id never changes, so a cached one cannot be stale.
 */
export function publicKeyOf(device: Pick<Device, 'keyId' | 'publicKey'>): KeyObject | undefined {
  const cached = cache.get(device.keyId)
  if (cached !== undefined) {
    // A Map iterates in insertion order, so the first key is the least recently used.
    cache.delete(device.keyId)
    cache.set(device.keyId, cached)
    return cached
  }
  const key = readPublicKey(device.publicKey)
  if (key === undefined) return undefined
  if (cache.size >= MAX_CACHED_KEYS)
    for (const oldest of cache.keys()) if (cache.delete(oldest)) break
  cache.set(device.keyId, key)
  return key
}
