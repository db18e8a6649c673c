import { canonicalJson, type FullSession, judgeQuorum, judgeSubmit } from '@bonded/contract'
import type { Service } from '../service/call.ts'
import { getQuorum, getSession } from '../service/sessions.ts'
import type { GatePolicy } from '../verbs/dependencies.ts'
import type { Row } from './approval-row.ts'
import type { ApprovalProgress, ApprovalStatus } from './approval-status.ts'
import type { ApprovalReason } from './errors.ts'

/** What this process requires, which no row and no request can lower. */
export interface Rule {
  readonly workflow: string
  readonly action: string
  /** How many people must approve at least. Undefined: one user does. */
  readonly minimum: number | undefined
  readonly policy: GatePolicy
}

/** The session of a row, or all those of its quorum, at one instant. */
export interface Snapshot {
  readonly sessions: readonly FullSession[]
  /** The time of the service. */
  readonly now: number
}

export async function readSnapshot(service: Service, row: Row): Promise<Snapshot> {
  if (row.quorum === undefined) {
    const session = await getSession(service, row.id)
    return { sessions: [session], now: Date.parse(session.server_time) }
  }
  const { sessions, server_time } = await getQuorum(service, row.id)
  return { sessions, now: Date.parse(server_time) }
}

interface Judgement {
  /** Why the action must not run. */
  readonly reasons: readonly ApprovalReason[]
  /** The sessions whose approval counts. */
  readonly approved: readonly string[]
}

export function judge(rule: Rule, row: Row, snapshot: Snapshot): Judgement {
  const { sessions } = snapshot
  const { id, quorum } = row
  if (quorum === undefined && rule.minimum === undefined) {
    const { decision, reasons } = judgeOne(rule, row, snapshot, sessions[0])
    return { reasons, approved: decision === 'accept' ? [id] : [] }
  }
  // A row of one user is none of several, and the reverse: without a minimum, none is reached.
  const none = { needed: 0, of: sessions.length, refs: [] }
  const minimum = rule.minimum ?? Number.NaN
  const stored = { ...none, ...quorum, id }
  return judgeQuorum({ ...factsOf(rule, row, snapshot), sessions, row: stored, minimum })
}

/** Also without the check that the phone showed all of it, which needs the arguments. */
export function progressOf(rule: Rule, row: Row, snapshot: Snapshot): ApprovalProgress {
  const { sessions } = snapshot
  const { reasons, approved } = judge(rule, row, snapshot)
  const needed = row.quorum?.needed ?? 1
  const isOpen = ({ state }: FullSession) => state === 'pending' || state === 'step_up_required'
  const open = sessions.filter(isOpen).length
  const has = (...states: string[]) =>
    sessions.some(({ state, ended_reason }) => states.includes(ended_reason ?? state))
  const isReview = () =>
    sessions.some((each) => judgeOne(rule, row, snapshot, each).decision === 'review')
  const stateOf = (): ApprovalStatus => {
    if (has('user_unexpected')) return 'reported'
    if (has('user_declined')) return 'declined'
    if (has('completed')) return 'executed'
    if (reasons.length === 0) return 'approved'
    if (open > 0 && approved.length + open >= needed) return 'waiting'
    if (isReview()) return 'review'
    return has('expired') ? 'expired' : 'ended'
  }
  const state = stateOf()
  const note = state === 'declined' ? noteOf(sessions) : null
  return { state, approved: approved.length, needed, note }
}

/** The sessions to complete: each that was approved, unless a reviewer would have to decide. */
export function toComplete(rule: Rule, row: Row, snapshot: Snapshot): readonly string[] {
  return snapshot.sessions
    .filter(({ reported_at }) => reported_at !== undefined)
    .filter((each) => judgeOne(rule, row, snapshot, each).decision !== 'review')
    .map(({ id }) => id)
}

/** Whether every phone has shown the context that was computed again. */
export function hasShown(row: Row, { sessions }: Snapshot, context: object): boolean {
  const { id, quorum } = row
  const rule = quorum && { quorum: { id, needed: quorum.needed, of: quorum.of } }
  const shown = canonicalJson({ ...context, ...rule })
  return sessions.every((session) => canonicalJson(session.context) === shown)
}

function judgeOne(rule: Rule, row: Row, snapshot: Snapshot, session: FullSession | undefined) {
  const { expected, ...facts } = factsOf(rule, row, snapshot)
  if (row.quorum === undefined)
    return judgeSubmit({
      ...facts,
      session_id: row.id,
      session,
      expected: { ...expected, subject_ref: row.subject_ref },
    })
  const { quorum: _rule, ...context } = session?.context ?? {}
  const alone = session && ({ ...session, context } as FullSession)
  return judgeSubmit({ ...facts, session_id: session?.id, session: alone, expected })
}

function factsOf({ workflow, action, policy }: Rule, row: Row, { now }: Snapshot) {
  const { tenant_id, passport = {} } = policy
  const passportRule = Object.hasOwn(passport, workflow) ? passport[workflow] : undefined
  const expected = {
    workflow,
    action,
    context_digest: row.digest,
    ...(passportRule !== undefined && { passport: passportRule }),
    ...(tenant_id !== undefined && { tenant_id }),
  }
  return { owner: row.owner, pending: row, expected, now }
}

/** Of the one user who declined, which has ended the sessions of all others. */
function noteOf(sessions: readonly FullSession[]): string | null {
  for (const session of sessions) {
    const { decline_note: note } = session as FullSession & { readonly decline_note?: unknown }
    if (typeof note === 'string') return note
  }
  return null
}
