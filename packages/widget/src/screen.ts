import type { ScreenText } from './messages/messages.ts'
import { COMPLETED_SCREENS, ENDED_SCREENS } from './ended-screens.ts'
import type { Code, Instant, Snapshot } from './session/snapshot.ts'

/** The screens of the widget. */
export type ScreenName =
  | 'starting'
  | 'waiting'
  | 'scanned'
  | 'evaluating'
  | 'step_up'
  | 'bonded'
  | 'completed'
  | 'in_review'
  | 'declined'
  | 'unexpected'
  | 'not_verified'
  | 'killed'
  | 'expired'
  | 'unavailable'
  | 'not_set_up'
  | 'unreachable'
  | 'obstructed'
  | 'no_room'

/** The request was confirmed in another browser. Its text is of two other screens. */
export type ElsewhereScreen = 'elsewhere'

/** The screens of the browser's proof. Their texts and their button are loaded with its code. */
export type ProofScreen = 'browser' | 'browser_again' | 'browser_frame'

/**
 * What to draw. `code` is null when no QR code may be shown, and `expiresAt` when no time is
 * running.
 */
export interface Screen {
  readonly name: ScreenName | ProofScreen | ElsewhereScreen
  /** Replaces the text of the screen. */
  readonly text?: ScreenText | undefined
  /** Takes the place of the QR code: a button, or the service's frame. */
  readonly stage?: HTMLElement | undefined
  readonly code: Code | null
  readonly expiresAt: Instant | null
  /** False: the widget is reconnecting. */
  readonly hasContact: boolean
}

/** A screen without QR code and countdown. */
export function plain(name: Screen['name']): Screen {
  return { name, code: null, expiresAt: null, hasContact: true }
}

/**
 * After this long, the phone waits for its user rather than for the service. A rejected assertion
 * resets the hint at once; a user who dismisses the phone's prompt sends nothing.
 */
const LONGEST_EVALUATION_MS = 8_000

/** What to draw for a session, now. An expired QR code is never shown. */
export function screenOf(snapshot: Snapshot, now: Instant): Screen {
  const { state, code, expiresAt, outcome, reportedAt } = snapshot
  switch (state) {
    case 'pending': {
      const name = pendingScreen(snapshot, now)
      return {
        name,
        code: name === 'waiting' && code && now < code.expiresAt ? code : null,
        expiresAt,
        hasContact: true,
      }
    }
    case 'step_up_required':
      return { ...plain('step_up'), expiresAt }
    case 'killed':
      return plain(ENDED_SCREENS[snapshot.endedReason ?? 'killed'])
    case 'bonded':
    case 'expired':
      if (!reportedAt) return plain(reportedAt === null ? 'bonded' : state)
      break
    case 'completed':
  }
  // Completed, or reported late, which changes no state.
  return plain(COMPLETED_SCREENS[outcome])
}

function pendingScreen({ hint, hintedAt }: Snapshot, now: Instant): ScreenName {
  if (hint === 'evaluating') return now < hintedAt + LONGEST_EVALUATION_MS ? hint : 'scanned'
  return hint === 'scanned' ? hint : 'waiting'
}
