import type { SessionContext, SessionState, StepUp, TimelineEntry } from '@bonded/contract'
import type { Policy } from '@bonded/core/domain/policy'
import type { Session } from '@bonded/core/domain/session'
import type { StoredEvent } from '@bonded/core/ports/tables/session-table'
import { columnNames } from '../personal-data.ts'
import type { Row, SqlValue } from '../statement.ts'

/** The column of each member of a session. */
const COLUMNS: { readonly [Member in keyof Session]: string } = {
  id: 'id',
  tenantId: 'tenant_id',
  rootKeyId: 'root_key_id',
  state: 'state',
  seq: 'seq',
  hint: 'hint',
  workflow: 'workflow',
  action: 'action',
  policy: 'policy',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  sessionTtlMs: 'session_ttl_ms',
  challengeTtlMs: 'challenge_ttl_ms',
  bondedTtlMs: 'bonded_ttl_ms',
  pendingUntil: 'pending_until',
  bondedAt: 'bonded_at',
  completedAt: 'completed_at',
  endedAt: 'ended_at',
  endedReason: 'ended_reason',
  outcome: 'outcome',
  context: 'context',
  wantedSubjectRef: 'wanted_subject_ref',
  inboxSubjectId: 'inbox_subject_id',
  subjectRef: 'subject_ref',
  sealedPhoneNumber: 'phone_number',
  endUserNetwork: 'end_user_address',
  requestingOrigin: 'requesting_origin',
  deviceId: 'device_id',
  claimedNonce: 'claimed_nonce',
  claimedAt: 'claimed_at',
  validAssertions: 'valid_assertions',
  bondDigest: 'bond_digest',
  bondProof: 'bond_proof',
  receiptDueAt: 'receipt_due_at',
  verification: 'verification',
  stepUp: 'step_up',
  browserProof: 'browser_proof',
  notifies: 'notifies',
}

const MEMBERS = Object.keys(COLUMNS) as (keyof Session)[]
const AS_JSON: ReadonlySet<keyof Session> = new Set([
  'policy',
  'context',
  'bondProof',
  'verification',
  'stepUp',
  'browserProof',
])

/** The members that say something about a user. */
const EMPTIED = MEMBERS.filter((member) =>
  columnNames('session', 'emptied').includes(COLUMNS[member]),
)

/** The session without what it has of its user, so that no receipt of it can be made either. */
export function emptied(session: Session): Session {
  const nothing = Object.fromEntries(EMPTIED.map((member) => [member, null]))
  return { ...session, ...nothing, receiptDueAt: null }
}

export const SESSION_COLUMNS = MEMBERS.map((member) => COLUMNS[member])

/** A session's values in the order of `SESSION_COLUMNS`. */
export function columnsOf(session: Session): SqlValue[] {
  return MEMBERS.map((member) => columnValue(session, member))
}

/** The columns in which two versions of a session differ, with the values of the later one. */
export function differenceOf(
  before: Session,
  after: Session,
): { columns: string; values: SqlValue[] } {
  let columns = ''
  const values: SqlValue[] = []
  for (const member of MEMBERS) {
    if (before[member] === after[member]) continue
    columns += ` ${COLUMNS[member]}`
    values.push(columnValue(after, member))
  }
  return { columns, values }
}

function columnValue(session: Session, member: keyof Session): SqlValue {
  const value = session[member]
  if (typeof value === 'boolean') return value ? 1 : 0
  return AS_JSON.has(member) && value !== null ? JSON.stringify(value) : (value as SqlValue)
}

/** Parsed policies by their text, which is the same for every session of a workflow. */
const policies = new Map<string, Policy>()
/** A bound on memory: far more than the number of workflows on one node. */
const MAX_POLICIES = 1_000

function parsePolicy(text: string): Policy {
  let policy = policies.get(text)
  if (policy === undefined) {
    if (policies.size >= MAX_POLICIES) policies.clear()
    policy = JSON.parse(text) as Policy
    policies.set(text, policy)
  }
  return policy
}

/** The session of a row. */
export function sessionFromRow(row: Row): Session {
  return {
    id: row.id as Session['id'],
    tenantId: row.tenant_id as Session['tenantId'],
    rootKeyId: row.root_key_id as string,
    state: row.state as SessionState,
    seq: Number(row.seq),
    hint: row.hint as Session['hint'],
    workflow: row.workflow as string,
    action: row.action as string,
    policy: parsePolicy(row.policy as string),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    sessionTtlMs: Number(row.session_ttl_ms),
    challengeTtlMs: Number(row.challenge_ttl_ms),
    bondedTtlMs: Number(row.bonded_ttl_ms),
    pendingUntil: instant(row.pending_until),
    bondedAt: instant(row.bonded_at),
    completedAt: instant(row.completed_at),
    endedAt: instant(row.ended_at),
    endedReason: row.ended_reason as Session['endedReason'],
    outcome: row.outcome as Session['outcome'],
    context: json<SessionContext>(row.context),
    wantedSubjectRef: row.wanted_subject_ref as string | null,
    inboxSubjectId: row.inbox_subject_id as Session['inboxSubjectId'],
    subjectRef: row.subject_ref as string | null,
    sealedPhoneNumber: row.phone_number as string | null,
    endUserNetwork: row.end_user_address as string | null,
    requestingOrigin: row.requesting_origin as string | null,
    deviceId: row.device_id as Session['deviceId'],
    claimedNonce: row.claimed_nonce as string | null,
    claimedAt: instant(row.claimed_at),
    validAssertions: Number(row.valid_assertions),
    bondDigest: row.bond_digest as string | null,
    bondProof: json<NonNullable<Session['bondProof']>>(row.bond_proof),
    receiptDueAt: instant(row.receipt_due_at),
    verification: json<NonNullable<Session['verification']>>(row.verification),
    stepUp: json<StepUp>(row.step_up),
    browserProof: json<NonNullable<Session['browserProof']>>(row.browser_proof),
    notifies: Number(row.notifies) === 1,
  }
}

/** A line of the timeline. */
export function entryFromRow(row: Row): TimelineEntry {
  return {
    at: new Date(Number(row.at)).toISOString(),
    kind: row.kind as string,
    seq: instant(row.seq),
    reason: row.reason as string | null,
    step: row.step as string | null,
    request_id: row.request_id as string | null,
    key_id: row.key_id as string | null,
    key_name: row.key_name as string | null,
  }
}

/** Converts a row into an event that the channel can replay. */
export function eventFromRow(row: Row): StoredEvent {
  return {
    seq: Number(row.seq),
    kind: row.kind as string,
    at: Number(row.at),
    state: row.state as SessionState,
    hint: row.hint as Session['hint'],
  }
}

function instant(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}

function json<T>(value: SqlValue | undefined): T | null {
  return typeof value === 'string' ? (JSON.parse(value) as T) : null
}
