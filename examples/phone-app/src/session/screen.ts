import type { CompletionOutcome } from '@bonded/contract'
import type { ListedKey, ShownRequest } from '@bonded/phone'
import type { ProblemKind } from './problem.ts'

/** What the app can show, one screen at a time. */
export type Screen =
  | { readonly name: 'loading' }
  | { readonly name: 'setup'; readonly hasRequest: boolean }
  | { readonly name: 'home' }
  | { readonly name: 'scanner'; readonly isUnreadable: boolean }
  | { readonly name: 'request'; readonly request: ShownRequest; readonly notice: Notice | null }
  | { readonly name: 'step_up'; readonly step: StepUpStep; readonly request: ShownRequest }
  | {
      /** The phone has approved, and waits until the page's browser has confirmed. */
      readonly name: 'awaiting_browser'
      readonly request: ShownRequest
      readonly notice: 'connection_lost' | null
    }
  | { readonly name: 'working'; readonly task: Task; readonly request: ShownRequest | null }
  | { readonly name: 'approved'; readonly request: ShownRequest }
  | CompletedScreen
  | { readonly name: 'ended'; readonly end: End; readonly tenant: string }
  | { readonly name: 'phones'; readonly keys: readonly ListedKey[]; readonly notice: Notice | null }
  | {
      readonly name: 'removal'
      readonly key: ListedKey
      /** The phones that go with it, because it added them while it was new itself. */
      readonly also: readonly ListedKey[]
    }
  | { readonly name: 'problem'; readonly problem: ProblemKind; readonly requestId: string | null }

/** The end of an approved request. */
export interface CompletedScreen {
  readonly name: 'completed'
  readonly request: ShownRequest
  /** What the organization's backend said; null where it said nothing. */
  readonly outcome: CompletionOutcome | null
}

/** What the app is busy with. */
export type Task =
  | 'setting_up'
  | 'opening'
  | 'checking'
  | 'creating_passkey'
  | 'signing'
  | 'declining'
  | 'listing'
  | 'removing'

/** What just went wrong, while the user can still decide. */
export type Notice = 'not_verified_by_user' | 'connection_lost'

/** How a session ended on this phone. */
export type End =
  | 'declined'
  | 'reported'
  | 'expired'
  | 'unreported'
  | 'canceled'
  | 'decided'
  | 'suspended'
  | 'not_verified'

/** What a step-up needs from the user. */
export interface StepUpStep {
  readonly kind: 'verify_again' | 'motion'
  readonly attemptsLeft: number
  /** For `motion`: whole seconds recorded, and how many are needed. */
  readonly seconds: number
  readonly neededSeconds: number
}

/** What the user can choose. A choice that does not fit the screen has no effect. */
export type Choice =
  | 'set_up'
  | 'scan'
  | 'home'
  | 'approve'
  | 'decline'
  | 'report'
  | 'continue_step_up'
  | 'phones'
  | 'remove_phone'
  | 'remove_browser_key'
  | 'retry'
  | 'set_up_again'
