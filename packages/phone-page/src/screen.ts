import type { ShownRequest } from '@bonded/phone'
import type { ProblemKind } from './problem.ts'

/**
 * What the page can show. One screen at a time; the view draws it and reports what the user chose.
 */
export type Screen =
  | { readonly name: 'loading' }
  | { readonly name: 'desktop'; readonly link: string }
  | { readonly name: 'setup'; readonly appLink: string | null }
  | { readonly name: 'request'; readonly request: ShownRequest; readonly notice: Notice | null }
  | { readonly name: 'step_up'; readonly step: StepUpStep; readonly request: ShownRequest }
  | { readonly name: 'working'; readonly task: Task; readonly request: ShownRequest | null }
  | { readonly name: 'approved'; readonly request: ShownRequest }
  | { readonly name: 'completed'; readonly request: ShownRequest }
  | { readonly name: 'ended'; readonly end: End; readonly tenant: string }
  | { readonly name: 'problem'; readonly problem: ProblemKind; readonly requestId: string | null }

/** What the page is busy with. */
export type Task = 'setting_up' | 'opening' | 'signing' | 'declining'

/** A sentence above the request: what just went wrong, while the user can still decide. */
export type Notice = 'not_verified_by_user' | 'connection_lost'

/** How a session ended on this phone. */
export type End = 'declined' | 'reported' | 'expired' | 'canceled' | 'not_verified'

/** What a step-up needs from the user. */
export interface StepUpStep {
  readonly kind: 'verify_again' | 'motion'
  readonly attemptsLeft: number
  /** For `motion`: whole seconds recorded, and how many are needed. */
  readonly seconds: number
  readonly neededSeconds: number
  readonly motionAccess: 'recording' | 'needs_permission'
}

/** What the user can choose. */
export type Choice =
  | 'set_up'
  | 'approve'
  | 'decline'
  | 'report'
  | 'continue_step_up'
  | 'allow_motion'
  | 'retry'
  | 'set_up_again'
