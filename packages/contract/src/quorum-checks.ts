import { type GateFacts, judgeSubmit } from './gate-checks.ts'
import type { QuorumRule } from './schemas/context.ts'
import type { FullSession } from './schemas/session.ts'

/** What the backend's own row has of a quorum. */
export interface QuorumRow extends QuorumRule {
  /** The `subject_refs` of the create: each names another user. */
  readonly refs: readonly string[]
}

/** The facts of an action that several people approve. */
export interface QuorumFacts extends Omit<GateFacts, 'session_id' | 'session'> {
  readonly row: QuorumRow
  /** How many people must approve at least: of the configuration, never of a row or a request. */
  readonly minimum: number
  /** All sessions of `GET /quorums/{id}`; undefined unless it returned 200. */
  readonly sessions: readonly FullSession[] | undefined
}

export type QuorumRejectReason =
  | 'quorum_unavailable'
  | 'quorum_mismatch'
  | 'declined'
  | 'too_few_approvals'

/** The judgement of a quorum. After `accept`, act and then complete the approved sessions. */
export type QuorumVerdict = {
  /** The ids of the sessions whose approval counts. */
  readonly approved: readonly string[]
} & (
  | { readonly decision: 'accept'; readonly reasons: readonly [] }
  | { readonly decision: 'reject'; readonly reasons: readonly QuorumRejectReason[] }
)

/**
 * Whether enough people have approved (protocol 16). Pure: it fetches nothing. An approval counts
 * if {@link judgeSubmit} would accept it alone; one that it sends to a reviewer does not count.
 *
 * @example
 * judgeQuorum({ sessions: undefined, row, minimum: 2, ...facts }).reasons // ['quorum_unavailable']
 */
export function judgeQuorum({ sessions, row, minimum, ...facts }: QuorumFacts): QuorumVerdict {
  if (sessions === undefined || sessions.length !== row.of || !areDistinct(sessions, idOf))
    return reject('quorum_unavailable')
  // Negated, so that a minimum that is not a number rejects.
  const isRow = row.needed >= Math.max(2, minimum) && areDistinct(row.refs, (ref) => ref)
  if (!isRow || row.refs.length !== row.of || !sessions.every((each) => isMember(each, row)))
    return reject('quorum_mismatch')
  if (sessions.some(({ ended_reason: ended }) => NO.includes(ended))) return reject('declined')

  const approvals = sessions.filter((session) => {
    // Alone, it would be one of several.
    const context = session.context && { ...session.context, quorum: undefined }
    const submit = { ...facts, session_id: session.id, session: { ...session, context } }
    return judgeSubmit(submit as GateFacts).decision === 'accept'
  })
  const isListed = approvals.every(({ subject_ref: ref }) => ref !== null && row.refs.includes(ref))
  if (!isListed || !areDistinct(approvals, ({ subject_ref }) => subject_ref))
    return reject('quorum_mismatch')
  const approved = approvals.map(idOf)
  return approved.length >= row.needed
    ? { decision: 'accept', reasons: [], approved }
    : { ...reject('too_few_approvals'), approved }
}

/** The ends by which one user ends the quorum for all. */
const NO: readonly FullSession['ended_reason'][] = ['user_declined', 'user_unexpected']

const idOf = ({ id }: FullSession): string => id

/** Whether a session is of the quorum, under the rule that its phone has signed. */
function isMember({ context }: FullSession, row: QuorumRow): boolean {
  const { id, needed, of } = context?.quorum ?? {}
  return id === row.id && needed === row.needed && of === row.of
}

function areDistinct<T>(list: readonly T[], nameOf: (each: T) => unknown): boolean {
  return new Set(list.map(nameOf)).size === list.length
}

function reject(reason: QuorumRejectReason): QuorumVerdict {
  return { decision: 'reject', reasons: [reason], approved: [] }
}
