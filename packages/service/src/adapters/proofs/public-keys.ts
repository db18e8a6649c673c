import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Device } from '../../domain/session.ts'

/** Making a key object costs twice what a verification does: 5 000 phones at once keep theirs. */
const MAX_KEPT = 5_000
const kept = new Map<string, KeyObject>()

/** The key object of a device. A key never changes under its id, so what is kept cannot be stale. */
export function publicKeyOf(device: Pick<Device, 'keyId' | 'publicKey'>): KeyObject {
  const known = kept.get(device.keyId)
  if (known !== undefined) {
    // Least recently used goes first: a Map remembers the order of insertion.
    kept.delete(device.keyId)
    kept.set(device.keyId, known)
    return known
  }
  const key = createPublicKey({ key: Buffer.from(device.publicKey), format: 'der', type: 'spki' })
  if (kept.size >= MAX_KEPT) for (const oldest of kept.keys()) if (kept.delete(oldest)) break
  kept.set(device.keyId, key)
  return key
}
