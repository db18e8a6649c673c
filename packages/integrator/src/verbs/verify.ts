import { type FullSession, judgeSubmit, parseId, type SessionId } from '@bonded/contract'
import { adviceFor } from '../advice.ts'
import { GateError } from '../errors.ts'
import type { PendingRow } from '../pending/pending-store.ts'
import { getSession } from '../service/sessions.ts'
import type { GateParts } from './parts.ts'
import { rejected, type Submit, type Verdict } from './verdict.ts'

/** Judges a submit. Changes nothing; `use` makes the verdict count, once. */
export async function verifySubmit<Tx>(parts: GateParts<Tx>, submit: Submit): Promise<Verdict> {
  const session_id = typeof submit.session_id === 'string' ? submit.session_id : ''
  if (session_id === '') return rejected('session_missing')
  // The row first: a stranger's guesses cost no call, and no text but an id of ours becomes a part of a path.
  const id = parseId('sess', session_id)
  const row = id && (await parts.store.find(id))
  if (id === undefined || row === undefined || row.owner !== submit.owner)
    return rejected('session_not_ours')
  if (row.used_at !== null) return rejected('already_used')

  const session = await fetchSession(parts, id)
  if (session instanceof GateError) return rejected('session_unavailable', session)
  return judge({ parts, submit, row, session })
}

async function fetchSession<Tx>(
  parts: GateParts<Tx>,
  id: SessionId,
): Promise<FullSession | GateError> {
  try {
    return await getSession(parts.service, id)
  } catch (error) {
    if (error instanceof GateError) return error
    throw error
  }
}

function judge<Tx>(facts: {
  parts: GateParts<Tx>
  submit: Submit
  row: PendingRow
  session: FullSession
}): Verdict {
  const { parts, submit, row, session } = facts
  const { policy } = parts
  const passport = policy.passport?.[submit.workflow]
  const verdict = judgeSubmit({
    session_id: row.session_id,
    pending: row,
    session,
    expected: {
      workflow: submit.workflow,
      action: submit.action,
      ...(passport !== undefined && { passport }),
      ...(policy.tenant_id !== undefined && { tenant_id: policy.tenant_id }),
      ...(row.subject_ref !== null && { subject_ref: row.subject_ref }),
      ...boundDigest(row, submit),
    },
    // The service's own time: a wrong clock here neither ends a bond early nor keeps it alive.
    now: Date.parse(session.server_time),
  })
  if (verdict.decision === 'reject') return { ...verdict, advice: verdict.reasons.map(adviceFor) }
  const { verification } = session
  if (verification === null) return rejected('verification_missing')
  const bond = {
    session_id: row.session_id,
    owner: row.owner,
    verification,
    subject_ref: session.subject_ref,
  }
  if (verdict.decision === 'accept') return { ...verdict, ...bond, advice: [] }
  return { ...verdict, ...bond, advice: verdict.reasons.map(adviceFor) }
}

/** A row that was bound demands a digest; a digest that was sent demands a bound session. A missing one matches nothing. */
function boundDigest(row: PendingRow, submit: Submit): { context_digest?: string } {
  if (row.context_digest === null && submit.form_digest === undefined) return {}
  return {
    context_digest:
      row.context_digest === submit.form_digest && submit.form_digest ? submit.form_digest : '',
  }
}
