import type { SensorSignal, SessionId } from '@bonded/contract'
import { type Continuity, scoreContinuity } from '../domain/continuity.ts'
import {
  compareWindow,
  isWorthStoring,
  type MotionMemory,
  rankPatternsOf,
  repeated,
} from '../domain/motion-memory.ts'
import type { Device } from '../domain/session.ts'
import type { Tables, Work } from '../ports/store.ts'
import type { Service } from './service.ts'

/**
 * Scores how clearly a user carried the phone, and stores fingerprints of the motion, so that a
 * recording counts once. The features themselves are not stored.
 */
export function* updateContinuity(
  { keys }: Service,
  tables: Tables,
  of: { id: SessionId; device: Device; signal: SensorSignal | undefined; now: number },
): Work<Continuity> {
  const { id, device, signal, now } = of
  const continuity = scoreContinuity(signal)
  if (signal === undefined || !isWorthStoring(continuity)) return continuity

  const stored = yield* tables.devices.motion(device.id)
  // Fingerprints of a dropped root key cannot be compared.
  const memory: MotionMemory =
    stored !== undefined && keys.holds(stored.keyId)
      ? stored
      : { keyId: keys.currentKeyId, windows: [] }
  const fingerprints = new Set(
    keys.motionFingerprints(memory.keyId, device.id, rankPatternsOf(signal)),
  )
  const after = compareWindow(fingerprints, { memory, windowMs: signal.window_ms, now })
  if (after === 'repetition') {
    yield* tables.sessions.note(id, {
      at: now,
      kind: 'note',
      reason: 'motion_repeated',
      step: 'sensor_continuity',
    })
    return repeated(continuity)
  }
  if (after !== memory) yield* tables.devices.storeMotion(device.id, after)
  return continuity
}
