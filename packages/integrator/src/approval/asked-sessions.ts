import { type CreateQuorumRequest, Secret, type SessionId } from '@bonded/contract'
import { GateError, type GateErrorCode } from '../errors.ts'
import type { Service } from '../service/call.ts'
import {
  completeSession,
  type CreatedSessions,
  createQuorum,
  createSession,
} from '../service/sessions.ts'
import type { Asked, Row } from './approval-row.ts'
import type { ApprovalState } from './approval-store.ts'
import { readSnapshot, type Rule, toComplete } from './judge-approval.ts'
import type { Approvers } from './quorum.ts'

/** The service does not complete the session, now or later. */
const FINAL: readonly GateErrorCode[] = ['not_found', 'invalid_request']

/** Asks the user, or all people at once. Returns what the row has of it, and the sessions. */
export async function askService(
  service: Service,
  { context, ...purpose }: Pick<CreateQuorumRequest, 'workflow' | 'action' | 'context'>,
  { approvers, ask }: { readonly approvers: Approvers; readonly ask: string },
): Promise<readonly [asked: Asked, sessions: CreatedSessions]> {
  const { subject_ref, people, needed } = approvers
  if (people === undefined) {
    const created = await createSession(service, { ...purpose, subject_ref, context }, ask)
    const { id, completion_secret } = created
    return [{ id: id as SessionId, subject_ref, completion_secret }, [created]]
  }
  const subject_refs = people.map(({ ref }) => ref)
  // The library compares people: the maker may have several references.
  const quorum = { ...purpose, context, subject_refs, needed, maker_ref: null }
  const { id, sessions } = await createQuorum(service, quorum, ask)
  const secrets = sessions.map((each) => [each.id as SessionId, each.completion_secret] as const)
  const stored = { needed, of: people.length, refs: subject_refs, secrets }
  return [{ id, quorum: stored }, sessions]
}

/** The sessions of a row, with their completion secrets. */
export function secretsOf(row: Row): readonly (readonly [SessionId, string])[] {
  return row.quorum === undefined ? [[row.id, row.completion_secret]] : row.quorum.secrets
}

/**
 * Shows every phone that has approved that the action is done, which ends the sessions of the
 * others. Returns what the row then is, or undefined where the call is to be repeated.
 */
export async function complete(
  service: Service,
  rule: Rule,
  row: Row,
): Promise<ApprovalState | undefined> {
  const ends: ApprovalState[] = []
  const endOf = (error: unknown): ApprovalState | undefined => {
    if (!(error instanceof GateError) || !FINAL.includes(error.code)) return undefined
    return error.reportedAt ? 'reported_late' : 'unreported'
  }
  const all = secretsOf(row)
  let chosen = all
  try {
    if (row.quorum !== undefined) {
      const approved = toComplete(rule, row, await readSnapshot(service, row))
      chosen = all.filter(([id]) => approved.includes(id))
    }
  } catch (error) {
    // The service may still take a late report of each.
    if (endOf(error) === undefined) return undefined
  }
  for (const [session_id, secret] of chosen)
    try {
      await completeSession(service, {
        session_id,
        completion_secret: new Secret(secret),
        context_digest: row.digest,
        outcome: 'accepted',
      })
      ends.push('completed')
    } catch (error) {
      const end = endOf(error)
      if (end === undefined) return undefined
      ends.push(end)
    }
  const best = (['completed', 'reported_late'] as const).find((end) => ends.includes(end))
  return best ?? 'unreported'
}
