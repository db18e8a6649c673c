import type { KeyObject } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import type { Device } from '@bonded/core/domain/session'
import { GenerationCache } from '@bonded/core/collections/generation-cache'

/** Creating a key object costs twice as much as a verification. */
const cache = new GenerationCache<string, KeyObject>(5_000)

/**
 * Returns the key object of a device, or undefined where Node cannot read the stored key. The key
 * of a key id never changes, so a cached one cannot be stale.
 */
export function publicKeyOf(device: Pick<Device, 'keyId' | 'publicKey'>): KeyObject | undefined {
  const cached = cache.get(device.keyId)
  if (cached !== undefined) return cached
  const key = readPublicKey(device.publicKey)
  if (key !== undefined) cache.set(device.keyId, key)
  return key
}
