import type { TimelineEntry } from '@bonded/contract'
import type { Policy } from '@bonded/core/domain/policy'
import type { Session } from '@bonded/core/domain/session'
import type { StoredEvent } from '@bonded/core/ports/tables/session-table'
import { columnNames } from '../personal-data.ts'
import type { Row, SqlValue } from '../statement.ts'
import { membersOf, recordReader } from './record.ts'

/** The key follows from the id. */
const EXCEPTIONS = {
  session_key: null,
  phone_number: 'sealedPhoneNumber',
  end_user_address: 'endUserNetwork',
} as const
const MEMBERS = membersOf<Session>(columnNames('session'), EXCEPTIONS)
const readSession = recordReader<Session>(columnNames('session'), EXCEPTIONS)
const AS_JSON: ReadonlySet<keyof Session> = new Set([
  'policy',
  'context',
  'bondProof',
  'verification',
  'stepUp',
  'browserProof',
])

/** The members that say something about a user. */
const EMPTIED = MEMBERS.filter(([column]) => columnNames('session', 'emptied').includes(column))

/** The session without what it has of its user, so that no receipt of it can be made either. */
export function emptied(session: Session): Session {
  const nothing = Object.fromEntries(EMPTIED.map(([, member]) => [member, null]))
  return { ...session, ...nothing, receiptDueAt: null }
}

export const SESSION_COLUMNS = MEMBERS.map(([column]) => column)

/** A session's values in the order of `SESSION_COLUMNS`. */
export function columnsOf(session: Session): SqlValue[] {
  return MEMBERS.map(([, member]) => columnValue(session, member))
}

/** The columns in which two versions of a session differ, with the values of the later one. */
export function differenceOf(
  before: Session,
  after: Session,
): { columns: string; values: SqlValue[] } {
  let columns = ''
  const values: SqlValue[] = []
  for (const [column, member] of MEMBERS) {
    if (before[member] === after[member]) continue
    columns += ` ${column}`
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
    ...readSession(row),
    policy: parsePolicy(row.policy as string),
    context: json(row.context),
    bondProof: json(row.bond_proof),
    verification: json(row.verification),
    stepUp: json(row.step_up),
    browserProof: json(row.browser_proof),
    notifies: row.notifies === 1,
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

/** The event of a row, which the channel can replay. */
export const eventFromRow = recordReader<StoredEvent>(['seq', 'kind', 'at', 'state', 'hint'])

function instant(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}

function json<T>(value: SqlValue | undefined): T | null {
  return typeof value === 'string' ? (JSON.parse(value) as T) : null
}
