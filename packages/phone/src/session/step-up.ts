import type { StepUpKind } from '@bonded/contract'
import { PhoneError } from '../errors.ts'
import type { ClaimedSession } from './claimed-session.ts'
import type { PhoneSignals, SignalsAsked } from './signals.ts'

/** The kinds of proof this library can give. For `passport_chip` the app must bring a way to read one. */
export const ANSWERABLE_KINDS: readonly StepUpKind[] = [
  'local_auth',
  'sensor_continuity',
  'carrier',
  'passport_chip',
  'band:medium',
  'band:high',
]

/**
 * What the session asks of the phone now.
 *
 * @throws {PhoneError} `step_up_unsupported` for a kind that this phone does not know: protocol 1 has it stop, not guess;
 * `not_awaiting` where the session waits for no phone
 */
export function signalsAsked({ session }: ClaimedSession): SignalsAsked {
  const { state, step_up } = session
  if (state === 'pending') return { required: [], reasons: [], attempts_left: undefined }
  if (state !== 'step_up_required') throw new PhoneError('not_awaiting', { reason: state })
  if (step_up === null) throw new PhoneError('answer_unreadable', { reason: 'step_up' })
  const unknown = step_up.required.find(
    (kind) => !(ANSWERABLE_KINDS as readonly string[]).includes(kind),
  )
  if (unknown !== undefined) throw new PhoneError('step_up_unsupported', { reason: unknown })
  return {
    required: step_up.required,
    reasons: step_up.reasons,
    attempts_left: step_up.attempts_left,
  }
}

/**
 * Stops an answer that cannot meet what is asked: each one costs an attempt, and the third ends the session.
 *
 * @throws {PhoneError} `step_up_unsupported`
 */
export function demandAnswerable({ required }: SignalsAsked, { passport }: PhoneSignals): void {
  if (passport === undefined && required.includes('passport_chip'))
    throw new PhoneError('step_up_unsupported', { reason: 'passport_chip' })
}
