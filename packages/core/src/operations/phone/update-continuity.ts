import type { EvidenceSignals, SessionId } from '@bonded/contract'
import { type Continuity, scoreContinuity } from '../../domain/continuity.ts'
import {
  compareWindow,
  isWorthStoring,
  type MotionMemory,
  motionPatternsOf,
  repeated,
} from '../../domain/motion-memory.ts'
import type { Device } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { Service } from '../service.ts'

const NOTE_OF_MISSING = {
  denied: 'motion_denied',
  missing: 'motion_missing',
  too_short: 'motion_too_short',
} as const

/**
 * Scores how clearly the phone was held or worn, and stores fingerprints of the motion, so that a
 * recording counts once. The features themselves are not stored. The timeline has the reason that
 * the phone gives for missing motion.
 */
export function* updateContinuity(
  { keys }: Service,
  tables: Tables,
  evidence: { id: SessionId; device: Device; signals: EvidenceSignals; now: number },
): Work<Continuity> {
  const { id, device, signals, now } = evidence
  const { sensor_continuity: signal, sensor_continuity_missing: missing } = signals
  const note = (reason: string) =>
    tables.sessions.note(id, { at: now, kind: 'note', reason, step: 'sensor_continuity' })
  if (missing !== undefined) yield* note(NOTE_OF_MISSING[missing])
  const continuity = scoreContinuity(signal)
  if (signal === undefined || !isWorthStoring(continuity)) return continuity

  const stored = yield* tables.devices.motion(device.id)
  // Fingerprints of a dropped root key cannot be compared.
  const memory: MotionMemory =
    stored !== undefined && keys.holds(stored.keyId)
      ? stored
      : { keyId: keys.currentKeyId, windows: [] }
  const fingerprints = new Set(
    keys.motionFingerprints(memory.keyId, device.id, motionPatternsOf(signal)),
  )
  const after = compareWindow(fingerprints, { memory, windowMs: signal.window_ms, now })
  if (after === 'repetition') {
    yield* note('motion_repeated')
    return repeated(continuity)
  }
  if (after !== memory) yield* tables.devices.storeMotion(device.id, after)
  return continuity
}
