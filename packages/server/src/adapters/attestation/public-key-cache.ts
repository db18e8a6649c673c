import type { KeyObject } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import type { Device } from '@bonded/core/domain/session'
import { GenerationCache } from '@bonded/core/collections/generation-cache'

interface CachedKey {
  readonly publicKey: Uint8Array
  readonly key: KeyObject
}

/** Creating a key object costs twice as much as a verification. */
const cache = new GenerationCache<string, CachedKey>(5_000)

/**
 * Returns the key object of a device, or undefined where Node cannot read the stored key.
 *
 * A phone chooses the id of its browser key, so an attacker could choose that of another phone's
 * key. A cached key therefore serves only the bytes that it was read from.
 */
export function publicKeyOf(device: Pick<Device, 'keyId' | 'publicKey'>): KeyObject | undefined {
  const cached = cache.get(device.keyId)
  const { publicKey } = device
  if (cached !== undefined && Buffer.compare(cached.publicKey, publicKey) === 0) return cached.key
  const key = readPublicKey(publicKey)
  if (key !== undefined) cache.set(device.keyId, { publicKey, key })
  return key
}
