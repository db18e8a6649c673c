import type { KeyObject } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import type { Device } from '../../domain/session.ts'

/** Making a key object costs twice what a verification does: 5 000 phones at once keep theirs. */
const MAX_KEPT = 5_000
const kept = new Map<string, KeyObject>()

/**
 * The key object of a device, or undefined where Node cannot read the stored key. A key never
 * changes under its id, so a cached one cannot be stale.
 */
export function publicKeyOf(device: Pick<Device, 'keyId' | 'publicKey'>): KeyObject | undefined {
  const known = kept.get(device.keyId)
  if (known !== undefined) {
    // Least recently used goes first: a Map remembers the order of insertion.
    kept.delete(device.keyId)
    kept.set(device.keyId, known)
    return known
  }
  const key = readPublicKey(device.publicKey)
  if (key === undefined) return undefined
  if (kept.size >= MAX_KEPT) for (const oldest of kept.keys()) if (kept.delete(oldest)) break
  kept.set(device.keyId, key)
  return key
}
