import type { InboxPush, OpenedInbox, WaitingRequest } from '@bonded/phone'
import type { Notice } from '../screen.ts'

/** What only the inbox shows. */
export type InboxScreen =
  | (Counted & { readonly name: 'inbox'; readonly waiting: number })
  | { readonly name: 'no_inbox'; readonly hasNotRecovered: boolean }
  /** Another user has decided for the quorum of the request. */
  | { readonly name: 'decided' }
  | ListScreen
  | NoteScreen

/** Why the user declines, which they may say. The request still waits. */
export interface NoteScreen {
  readonly name: 'note'
  readonly tenant_name: string
  /** That of the request. After an outage, the page reads the request again before it declines. */
  readonly notice: Notice | null
}

/** A screen whose number the page polls. */
interface Counted {
  readonly notice: 'connection_lost' | null
}

/** A request with its times on the page's own clock. */
export interface TimedRequest extends WaitingRequest {
  readonly createdAtMs: number
  readonly endsAtMs: number
}

/** The place of a request among those that look the same in the list, itself included. */
export interface Alike {
  /** From 1, the oldest. */
  readonly number: number
  readonly count: number
  /** The time between the first and the last of them. */
  readonly withinMs: number
}

/** A request in the list. Its place is that of the time at which the list was read. */
export interface ListedRequest extends TimedRequest, Alike {}

/** The open inbox. */
export interface ListScreen extends Counted, Pick<OpenedInbox, 'cursor' | 'paused' | 'push'> {
  readonly name: 'list'
  readonly items: readonly ListedRequest[]
  /** How many requests waited when the list was read, without those that the user has answered. */
  readonly waiting: number
  readonly hasNewer: boolean
  /** The request at which the user goes on reading; null for the beginning of the list. */
  readonly at: string | null
  /** Whether the request that the user chose has ended. */
  readonly isOver: boolean
  /** Whether the user or the browser has permitted no notification. */
  readonly isBlocked: boolean
}

/** What the user can do in the inbox, beside the choices about one request. */
export interface InboxActions {
  /** Lists the requests anew. The phone asks for the screen lock. */
  open(): void
  /** Lists the next ones too. */
  more(): void
  select(item: ListedRequest): void
  /** Declines the open request, with what the user has written, or without. */
  decline(note: string): void
  /** Ends the pause of a tenant. */
  resume(pause: OpenedInbox['paused'][number]): void
  /** Turns notifications on or off. Absent where this browser has none. */
  readonly notify: ((push: InboxPush) => void) | undefined
}
