import { parseId, type QuorumId, type SessionId } from '@bonded/contract'
import type { ApprovalState, StoredApproval } from './approval-store.ts'
import type { Requester } from './approved-context.ts'
import { ApprovalError } from './errors.ts'
import type { OneUser, Quorum, StoredQuorum } from './quorum.ts'
import type { Pair } from './repeated-request.ts'

/** Who asks, and whom. */
export type Caller = (OneUser | Quorum) & {
  /** Who asks, from your own sign-in or configuration. Only the same owner can use the approval. */
  readonly owner: string
  readonly requester: Requester
}

export type ApprovalRequest<Args extends object> = Caller & {
  readonly args: Args
  /** Repeating a request with the same key and arguments returns the same approval. */
  readonly key?: string
}

/** An approval, and who asked for it. */
export interface ApprovalRef {
  readonly id: string
  readonly owner: string
}

/** An action whose outcome is unknown. */
export interface UnknownOutcome extends ApprovalRef {
  /** `running`: its process ended, or stands still. `unknown`: it threw. */
  readonly state: 'running' | 'unknown'
  /** Null for a quorum. */
  readonly subjectRef: string | null
  readonly digest: string
  /** When its process last renewed the lease, or it threw, in milliseconds since the epoch. */
  readonly since: number
}

/** What is stored before the service is asked, so that another process can ask the same again. */
interface Beginning {
  /** A digest of the owner, the user, and what was asked. */
  readonly asked: string
  /** The Idempotency-Key of the create. */
  readonly ask: string
  readonly key?: string | undefined
  /** What the user reads about an earlier request. */
  readonly repeats?: Pair | undefined
}

/** What never changes about an approval: the `data` of its row. */
export interface Data extends Beginning {
  readonly workflow: string
  readonly action: string
  readonly owner: string
  readonly requester: Requester
  readonly digest: string
  readonly inbox_url: string
}

/** What is stored of a session, or of the sessions of a quorum. */
export type Asked =
  | {
      readonly id: SessionId
      readonly subject_ref: string
      readonly completion_secret: string
      readonly quorum?: undefined
    }
  | { readonly id: QuorumId; readonly quorum: StoredQuorum }

export type Row = Data &
  Asked & {
    readonly state: ApprovalState
    readonly changed_at: number
    readonly expires_at: number
  }

export function parse({ data, ...columns }: StoredApproval): Row | undefined {
  const { state, changed_at, expires_at } = columns
  const id = parseId('sess', columns.id) ?? parseId('quo', columns.id)
  return id && ({ ...(JSON.parse(data) as Data & Asked), id, state, changed_at, expires_at } as Row)
}

/** What a caller learns about its request. */
export interface OpenedRequest {
  readonly id: string
  readonly inboxUrl: string
  readonly expiresInMs: number
}

export function openedOf({ id, inbox_url, expires_at }: Row, now: number): OpenedRequest {
  return { id, inboxUrl: inbox_url, expiresInMs: Math.max(0, expires_at - now) }
}

const BEGUN = 'ask_'

export function begin(
  beginning: Beginning,
  { lookup, now }: { readonly lookup: string; readonly now: number },
): StoredApproval {
  const id = `${BEGUN}${beginning.ask}`
  const row = { id, data: JSON.stringify(beginning), changed_at: now, expires_at: now }
  // With a key, it is found by its id. An equal request must not read all that were rejected.
  return { ...row, lookup: beginning.key === undefined ? lookup : id, state: 'waiting' }
}

export function beginningOf({ data }: StoredApproval): Beginning {
  return JSON.parse(data) as Beginning
}

export function begunOf(rows: readonly StoredApproval[]): readonly (Beginning & { at: number })[] {
  return rows
    .filter(({ id }) => id.startsWith(BEGUN))
    .map((row) => ({ ...beginningOf(row), at: row.changed_at }))
}

/**
 * A process renews the lease of an action that it runs. Three renewals can fail, and the clocks of
 * two machines can differ by seconds, before another process takes it for dead.
 */
export const LEASE_MS = 60_000
export const RENEWAL_MS = 15_000

/** The open outcome of a row, unless a process runs its action at this moment. */
export function unknownOf(row: Row, now: number): UnknownOutcome | undefined {
  const { id, owner, state, digest, changed_at: since } = row
  const subjectRef = row.quorum === undefined ? row.subject_ref : null
  if (state === 'unknown' || (state === 'running' && now >= since + LEASE_MS))
    return { id, owner, state, subjectRef, digest, since }
  return undefined
}

/** @throws {ApprovalError} unless the action can run */
export function rejectState(state: ApprovalState): void {
  if (state === 'running' || state === 'unknown')
    throw unknownOutcome('The action was started before, and its end is not known.')
  if (state === 'withdrawn') throw new ApprovalError('not_approved', 'The request was withdrawn.')
  if (state !== 'waiting')
    throw new ApprovalError('already_executed', 'The approval was executed before.')
}

export function unknownOutcome(message: string, cause?: unknown): ApprovalError {
  return new ApprovalError('outcome_unknown', message, { cause })
}
