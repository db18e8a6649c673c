import { PhoneError } from '@bonded/phone'
import type { StepUpStep } from './screen.ts'

/** Proofs that only an app can give. */
const APP_ONLY: readonly string[] = ['passport_chip', 'carrier']

/**
 * What the user does for a step-up. A band rises with motion. A key that stays below it after that,
 * such as a synced one, cannot reach it, so another attempt would be in vain.
 *
 * @param hasCarried whether the user has carried the phone for an earlier step-up
 * @throws {PhoneError} `step_up_unsupported`, with the kind as its reason
 */
export function stepFor(
  required: readonly string[],
  { attemptsLeft, hasCarried }: { attemptsLeft: number; hasCarried: boolean },
): StepUpStep {
  const band = required.find((kind) => kind.startsWith('band:'))
  const impossible =
    APP_ONLY.find((kind) => required.includes(kind)) ?? (hasCarried ? band : undefined)
  if (impossible !== undefined) throw new PhoneError('step_up_unsupported', { reason: impossible })
  const needsMotion = band !== undefined || required.includes('sensor_continuity')
  return { kind: needsMotion ? 'motion' : 'verify', attemptsLeft }
}
