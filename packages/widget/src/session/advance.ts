import { hasEnded } from '@bonded/contract'
import type { Snapshot } from './snapshot.ts'

/**
 * The newer of two snapshots. Frames and responses can arrive out of order: an older one changes
 * nothing, and an ended session stays ended. Expiry does not increase `seq`, so a snapshot with the
 * same `seq` counts as newer.
 */
export function advance(known: Snapshot, received: Snapshot): Snapshot {
  if (received.seq < known.seq || hasEnded(known.state)) return known
  return {
    ...received,
    tenant: received.tenant ?? known.tenant,
    hintedAt: received.seq === known.seq ? known.hintedAt : received.hintedAt,
    code: later(known.code, received.code),
    endedReason: received.endedReason ?? known.endedReason,
    reportedAt: known.state === 'bonded' ? (received.reportedAt ?? null) : received.reportedAt,
  }
}

function later(known: Snapshot['code'], received: Snapshot['code']): Snapshot['code'] {
  if (!known || !received) return received ?? known
  return received.expiresAt >= known.expiresAt || received.payload === known.payload
    ? received
    : known
}
