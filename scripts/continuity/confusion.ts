import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import { motionFeatures } from '@bonded/phone'
import { scoreContinuity } from '../../packages/core/src/domain/continuity.ts'
import { record, sensorGrade, type Stretch } from './body.ts'
import { CARRIED } from './carried.ts'
import { chance, type Chance } from './chance.ts'
import { DESK, NEARLY_DESK, takenUp } from './desk.ts'
import { EMULATORS, PASSING } from './emulators.ts'

/** `limit` shows what the model cannot tell, and belongs to no class. */
export const CLASSES = ['carried', 'desk', 'emulator', 'limit'] as const
export type Class = (typeof CLASSES)[number]

/** The results for the windows of one kind. */
export interface Row {
  readonly of: Class
  readonly kind: string
  readonly windows: number
  /** Windows that meet the policy's `sensor_continuity`. */
  readonly accepted: number
}

/** Enough for a resolution of one percent, and few enough to run in seconds. */
const WINDOWS_A_KIND = 100

/** Every kind of every class, with the same simulated windows in every run. */
export function confusion(firstSeed = 1): readonly Row[] {
  let seed = firstSeed
  const rows: Row[] = []
  const judge = (of: Class, kind: string, simulate: (luck: Chance) => SensorSignal) => {
    let accepted = 0
    for (let window = 0; window < WINDOWS_A_KIND; window++)
      if (scoreContinuity(simulate(chance(seed++))).score >= MIN_CONTINUITY_SCORE) accepted++
    rows.push({ of, kind, windows: WINDOWS_A_KIND, accepted })
  }
  const moved = (stretches: (luck: Chance) => readonly Stretch[]) => (luck: Chance) =>
    featuresOf(stretches(luck), luck)
  for (const [kind, stretches] of Object.entries(CARRIED)) judge('carried', kind, moved(stretches))
  for (const [kind, stretches] of Object.entries(DESK)) judge('desk', kind, moved(stretches))
  for (const [kind, script] of Object.entries(EMULATORS)) judge('emulator', kind, script)
  for (const seconds of [3, 5, 8])
    judge(
      'limit',
      `from the desk, held for the last ${seconds} seconds`,
      moved((luck) => takenUp(luck, seconds)),
    )
  for (const [kind, stretches] of Object.entries(NEARLY_DESK))
    judge('limit', kind, moved(stretches))
  for (const [kind, script] of Object.entries(PASSING)) judge('limit', kind, script)
  return rows
}

/** The rows of a class, added up. */
export function total(
  rows: readonly Row[],
  of: Class,
): { readonly windows: number; readonly accepted: number } {
  const those = rows.filter((row) => row.of === of)
  return {
    windows: those.reduce((sum, { windows }) => sum + windows, 0),
    accepted: those.reduce((sum, { accepted }) => sum + accepted, 0),
  }
}

function featuresOf(stretches: readonly Stretch[], luck: Chance): SensorSignal {
  const recording = record(stretches, { luck, grade: sensorGrade(luck) })
  return motionFeatures(recording) ?? { window_ms: 1_000, features: [] }
}
