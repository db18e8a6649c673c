import { type FullSession, isOwner, judgeSubmit, parseId, type SessionId } from '@bonded/contract'
import { adviceFor, type RejectReason } from '../user-messages.ts'
import { GateError } from '../errors.ts'
import type { PendingRow } from '../pending/pending-store.ts'
import { getSession } from '../service/sessions.ts'
import { VERDICT_TTL_MS } from './issued-verdicts.ts'
import { browserRuleMissing, browserRuleOf } from './browser-rule.ts'
import type { GateDependencies } from './dependencies.ts'
import { rejected, type Submit, type Unissued, type Verdict } from './verdict.ts'

/** Verifies a submit. It changes nothing: `use` consumes the bond, once. */
export async function verifySubmit<Tx>(
  gate: GateDependencies<Tx>,
  submit: Submit,
): Promise<Verdict> {
  const session_id = typeof submit.session_id === 'string' ? submit.session_id : ''
  if (session_id === '') return rejected('session_missing')
  if (!isOwner(submit.owner)) return rejected('session_not_ours', OWNER_MISSING)
  // The row comes first: a guessed id costs no call and never becomes part of a path.
  const id = parseId('sess', session_id)
  const row = id && (await gate.store.find(id))
  if (id === undefined || row === undefined || row.owner !== submit.owner)
    return rejected('session_not_ours')
  if (row.used_at !== null) return rejected('already_used')

  // Before the call: the duration of the call must not extend the verdict's lifetime.
  const startedAtMs = gate.clock.now()
  const session = await fetchSession(gate, id, secretOf(submit))
  if (session instanceof GateError) return rejected('session_unavailable', session)
  return judge({ gate, submit, row, session, startedAtMs })
}

const OWNER_MISSING = new GateError(
  'invalid_request',
  'owner must be a non-empty string: the signed-in user, or the browser’s login.',
)

async function fetchSession<Tx>(
  gate: GateDependencies<Tx>,
  id: SessionId,
  browserSecret: string | undefined,
): Promise<FullSession | GateError> {
  try {
    return await getSession(gate.service, id, browserSecret)
  } catch (error) {
    if (error instanceof GateError) return error
    throw error
  }
}

/** The secret, if it has its form. Another text must not become part of a header. */
function secretOf({ browser_secret: secret }: Submit): string | undefined {
  return typeof secret === 'string' && /^[A-Za-z0-9_-]{43}$/.test(secret) ? secret : undefined
}

interface Facts<Tx> {
  readonly gate: GateDependencies<Tx>
  readonly submit: Submit
  readonly row: PendingRow
  readonly session: FullSession
  readonly startedAtMs: number
}

function judge<Tx>({ gate, submit, row, session, startedAtMs }: Facts<Tx>): Verdict {
  const { policy } = gate
  // A workflow may be named `constructor`, which every object inherits.
  const passports = new Map(Object.entries(policy.passport ?? {}))
  const passport = passports.get(submit.workflow)
  const browser = browserRuleOf(policy, submit.workflow)
  if (browser !== undefined && browser.firstBond !== true && row.subject_ref === null)
    return rejected('subject_mismatch')
  // The service's own time, so that a wrong clock here neither ends a bond early nor prolongs it.
  const serverTimeMs = Date.parse(session.server_time)
  const verdict = judgeSubmit({
    session_id: row.session_id,
    owner: submit.owner,
    pending: row,
    session,
    expected: {
      workflow: submit.workflow,
      action: submit.action,
      ...(passport !== undefined && { passport }),
      ...(browser !== undefined && { browser: { origin: browser.origin } }),
      ...(policy.tenant_id !== undefined && { tenant_id: policy.tenant_id }),
      ...(row.subject_ref !== null && { subject_ref: row.subject_ref }),
      ...expectedContext(submit),
    },
    now: serverTimeMs,
  })
  const advice = verdict.reasons.map(adviceFor)
  const reason = verdict.decision === 'reject' ? verdict.reasons[0] : rowRejection(row, submit)
  if (reason === 'context_missing') return rejected(reason, digestMissing(row, submit))
  if (reason === 'browser_not_proved' && browser === undefined)
    return rejected(reason, browserRuleMissing(submit.workflow))
  if (verdict.decision === 'reject' || reason !== undefined)
    return rejected(reason ?? 'session_unavailable')
  const { verification, subject_ref } = session
  if (verification === null) return rejected('verification_missing')
  const { session_id, owner } = row
  const leftMs = Math.min(VERDICT_TTL_MS, Date.parse(session.expires_at) - serverTimeMs)
  const bond = { session_id, owner, verification, subject_ref }
  const unissued: Unissued =
    verdict.decision === 'accept'
      ? { ...verdict, ...bond, advice: [] }
      : { ...verdict, ...bond, advice }
  return gate.verdicts.issue(unissued, startedAtMs + leftMs)
}

/** Which of the two arguments is missing, for the integrator's log. */
function digestMissing(row: PendingRow, { form_digest }: Submit): GateError {
  const what = isMissing(form_digest)
    ? 'Pass form_digest, the bindingDigest(form) of the submitted form; or acceptAnyContext.'
    : row.context_digest === null
      ? 'This session was created without context.digest. Pass bindingDigest(record) to create; ' +
        'or acceptAnyContext to create and to each submit, without form_digest.'
      : 'The service returned this session without the digest of create. Check baseUrl.'
  return new GateError('invalid_request', what)
}

/** The digest of the submit must be that of the row too, whatever the service returns. */
function rowRejection(row: PendingRow, { form_digest }: Submit): RejectReason | undefined {
  if (isMissing(form_digest) || form_digest === row.context_digest) return undefined
  return row.context_digest === null ? 'context_missing' : 'context_mismatch'
}

function expectedContext({ form_digest, acceptAnyContext }: Submit): {
  context_digest?: string
  acceptAnyContext?: true
} {
  return {
    ...(!isMissing(form_digest) && { context_digest: form_digest }),
    ...(acceptAnyContext === true && { acceptAnyContext }),
  }
}

function isMissing(digest: string | null | undefined): digest is null | undefined {
  return digest === undefined || digest === null
}
