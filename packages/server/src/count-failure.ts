import { CheckpointError, LogRefused } from '@bonded/core/ports/kept-checkpoint'
import type { BackgroundWork, Meter } from '@bonded/core/ports/meter'
import { SignerError } from '@bonded/core/ports/signer'
import { StoreError } from '@bonded/core/ports/store'
import { WitnessError } from '@bonded/core/ports/witness'

/**
 * Counts a failure of background work for its cause, or else as a defect of the work. The store
 * counts its own failures, and a gauge shows a log that is refused.
 */
export function countFailure(meter: Meter, work: BackgroundWork, failure: unknown): void {
  if (failure instanceof SignerError) return meter.failed('signer')
  if (failure instanceof CheckpointError) return meter.failed('checkpoint_file')
  if (failure instanceof WitnessError) return meter.failed('witness')
  if (!(failure instanceof StoreError || failure instanceof LogRefused)) meter.workFailed(work)
}
