import type { SensorSignal, SessionId } from '@bonded/contract'
import { type Continuity, scoreContinuity } from '../domain/continuity.ts'
import {
  isRepetition,
  isWorthStoring,
  type MotionMemory,
  rankPatternsOf,
  repeated,
  withWindow,
} from '../domain/motion-memory.ts'
import type { Device } from '../domain/session.ts'
import type { Tables, Work } from '../ports/store.ts'
import type { Service } from './service.ts'

/**
 * Scores how plainly a phone was carried, and remembers how it was moved, so that a recording counts once. The
 * features are dropped with the request; what is kept are keyed marks of them.
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
  // Marks of a root key that is gone say nothing any more.
  const memory: MotionMemory =
    stored !== undefined && keys.holds(stored.keyId)
      ? stored
      : { keyId: keys.currentKeyId, windows: [] }
  const fingerprints = new Set(
    keys.motionFingerprints(memory.keyId, device.id, rankPatternsOf(signal)),
  )
  if (isRepetition(fingerprints, { memory, windowMs: signal.window_ms, now })) {
    yield* tables.sessions.note(id, {
      at: now,
      kind: 'note',
      reason: 'motion_repeated',
      step: 'sensor_continuity',
    })
    return repeated(continuity)
  }
  const after = withWindow(memory, { at: now, fingerprints })
  if (after !== memory) yield* tables.devices.storeMotion(device.id, after)
  return continuity
}
