import type { Scenario } from '../scenario.ts'
import { ENDINGS } from './endings.ts'
import { FIXATIONS } from './fixations.ts'
import { FRAMES } from './frames.ts'
import { HONEST } from './honest.ts'
import { KEYS } from './keys.ts'
import { REPLAYS } from './replays.ts'
import { SHOWN_CODES } from './shown-codes.ts'

/** The honest user, and all attacks of the design in its order. */
export const SCENARIOS: readonly Scenario[] = [
  HONEST,
  ...SHOWN_CODES,
  ...FIXATIONS,
  ...KEYS,
  ...REPLAYS,
  ...FRAMES,
  ...ENDINGS,
].toSorted((one, other) => one.number - other.number)
