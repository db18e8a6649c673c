import type { CompletionOutcome } from '@bonded/contract'
import type { ListedKey, ShownRequest } from '@bonded/phone'
import type { ProblemKind } from './failures.ts'
import type { Alike, InboxScreen } from './inbox/screen.ts'
import type { ShownInvitation } from './invitation.ts'
import type { Need } from './problem.ts'

/**
 * What a page can show. One screen at a time; the view draws it and reports what the user chose.
 */
export type Screen = PageScreen | InboxScreen

/** What both pages can show. */
export type PageScreen =
  | { readonly name: 'loading' }
  | { readonly name: 'desktop'; readonly link: string }
  | SetupScreen
  | { readonly name: 'new_key'; readonly tenant: string }
  | { readonly name: 'renew' }
  | { readonly name: 'motion' }
  | RequestScreen
  | { readonly name: 'step_up'; readonly step: StepUpStep; readonly request: ShownRequest }
  | { readonly name: 'browser_key'; readonly request: ShownRequest }
  | AwaitingBrowserScreen
  | { readonly name: 'working'; readonly task: Task; readonly request: ShownRequest | null }
  | ApprovedScreen
  | CompletedScreen
  | { readonly name: 'ended'; readonly end: End; readonly tenant: string }
  | KeysScreen
  | RemovalScreen
  | ProblemScreen

/** Who asks, before this phone has a key. */
export interface SetupScreen {
  readonly name: 'setup'
  readonly invitation: ShownInvitation
  /** The page's own address, to be opened in another browser. */
  readonly link: string
  readonly appLink: string | null
  /** Whether the page offers to find a passkey, beside a new setup or in its place. */
  readonly recovery: 'only' | 'offered' | 'none'
  /** Whether the user has tried that, and the service accepted no passkey. */
  readonly hasNotRecovered: boolean
}

/** The end of an approved request. */
export interface CompletedScreen {
  readonly name: 'completed'
  readonly request: ShownRequest
  /** What the tenant's backend said; null where it said nothing. */
  readonly outcome: CompletionOutcome | null
}

/**
 * The user has approved. `unreported`: the time of the approval has ended, and the backend has not
 * reported what came of it. It can still do so.
 */
export interface ApprovedScreen {
  readonly name: 'approved' | 'unreported'
  readonly request: ShownRequest
  readonly isSynced: boolean
}

/** The request, on which the user decides. */
export interface RequestScreen {
  readonly name: 'request'
  readonly request: ShownRequest
  readonly notice: Notice | null
  /** Whether this tab showed another request before, so that the user reads this one. */
  readonly isAnother: boolean
  /** In the inbox: where it is among those that look alike there. */
  readonly alike?: Alike | undefined
}

/** The phone has approved, and waits until the page's browser has confirmed. */
export interface AwaitingBrowserScreen {
  readonly name: 'awaiting_browser'
  readonly request: ShownRequest
  readonly notice: 'connection_lost' | null
}

/** The phones that approve for the user. */
export interface KeysScreen {
  readonly name: 'keys'
  readonly keys: readonly ListedKey[]
  readonly notice: 'not_verified_by_user' | null
}

/** What the user can remove: a phone, or only the browser key of a phone. */
export interface Removal {
  readonly key: ListedKey
  readonly what: 'phone' | 'passkey'
  /** The phones that go with it, because it added them while it was new itself. */
  readonly also: readonly ListedKey[]
}

/** A removal, which the user confirms. */
export interface RemovalScreen extends Removal {
  readonly name: 'removal'
}

export interface ProblemScreen {
  readonly name: 'problem'
  readonly problem: ProblemKind
  /** The proof that this browser cannot give, with `app_required`. */
  readonly need: Need | null
  /** The id by which the operator finds the rejected request. */
  readonly requestId: string | null
  /** The page's own address, to be opened in another browser. */
  readonly link: string
  /** Opens the operator's app with this session; null where none is configured. */
  readonly appLink: string | null
}

/** What the page is busy with. */
export type Task = 'setting_up' | 'opening' | 'checking' | 'signing' | 'declining' | 'removing'

/** A sentence above the request: what just went wrong, while the user can still decide. */
export type Notice = 'not_verified_by_user' | 'connection_lost' | 'browser_not_confirmed'

/** How a session ended on this phone, or that the user removed the phone. */
export type End =
  | 'declined'
  | 'reported'
  | 'expired'
  | 'canceled'
  | 'suspended'
  | 'not_verified'
  | 'removed'

/** What a step-up needs from the user. */
export interface StepUpStep {
  readonly kind: 'verify' | 'motion'
  readonly attemptsLeft: number
}

/** What the user can choose. */
export type Choice =
  | 'set_up'
  | 'recover'
  | 'approve'
  | 'decline'
  | 'report'
  | 'continue'
  | 'allow_motion'
  | 'retry'
  | 'set_up_again'
  | 'keys'
  | 'close'
