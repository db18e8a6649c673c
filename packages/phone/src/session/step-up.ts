import type { PhoneSession, StepUpKind } from '@bonded/contract'
import { PhoneError } from '../errors.ts'
import type { ClaimedSession } from './claimed-session.ts'
import type { PhoneSignals, RequiredSignals } from './signals.ts'

/**
 * The kinds of proof that this library supports. `passport_chip` needs an app that can read one.
 */
export const ANSWERABLE_KINDS: readonly StepUpKind[] = [
  'local_auth',
  'sensor_continuity',
  'carrier',
  'passport_chip',
  'band:medium',
  'band:high',
]

/** The member of `required` that the browser of the page proves, and no phone. */
const BROWSER_KIND = 'browser'

/**
 * Whether the phone has approved, and only the proof of the page's browser is missing. The phone
 * then has nothing to sign: it tells the user to confirm on the page, and waits.
 */
export function awaitsBrowser({
  state,
  step_up,
}: Pick<PhoneSession, 'state' | 'step_up'>): boolean {
  if (state !== 'step_up_required' || step_up === null) return false
  const [first, ...more] = step_up.required
  return first === BROWSER_KIND && more.length === 0
}

/**
 * The proofs that the session requires of the phone now.
 *
 * @throws {PhoneError} `step_up_unsupported` for an unknown kind, at which a phone stops (protocol
 * 1); `not_awaiting` when the session does not wait for a phone, with the reason `browser` when it
 * waits for the page's browser
 */
export function requiredSignals({ session }: ClaimedSession): RequiredSignals {
  const { state, step_up } = session
  if (state === 'pending') return { required: [], reasons: [], attempts_left: undefined }
  if (state !== 'step_up_required') throw new PhoneError('not_awaiting', { reason: state })
  if (awaitsBrowser(session)) throw new PhoneError('not_awaiting', { reason: BROWSER_KIND })
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
 * Rejects signals that cannot meet the requirement. Each insufficient assertion costs an attempt,
 * and the third one ends the session.
 *
 * @throws {PhoneError} `step_up_unsupported`
 */
export function requireAnswerable({ required }: RequiredSignals, { passport }: PhoneSignals): void {
  if (passport === undefined && required.includes('passport_chip'))
    throw new PhoneError('step_up_unsupported', { reason: 'passport_chip' })
}
