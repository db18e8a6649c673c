import {
  adviceFor,
  bindingDigest,
  type ProtectOutcome,
  type ReviewReason,
} from '@bonded/integrator'
import { ACTION, type Application, type Bank, WORKFLOW } from '../bank.ts'
import type { FormBody } from '../http/body.ts'
import { json, type Reply, reject } from '../http/reply.ts'
import { parseLoanForm } from '../loan-form.ts'
import type { Login } from '../logins.ts'
import { recordReport } from '../reports.ts'

/** POST /applications: the protected action. */
export async function submitApplication(
  bank: Bank,
  login: Login,
  { fields }: FormBody,
): Promise<Reply> {
  const session_id = typeof fields.session_id === 'string' ? fields.session_id : ''
  // Checked before the fields: a caller without an approval reads about the approval first.
  if (session_id === '') return notApproved(adviceFor('session_missing'), 'session_missing')
  const parsed = parseLoanForm(fields)
  if ('errors' in parsed)
    return reject(422, 'invalid_form', 'Check the marked fields.', { fields: parsed.errors })

  const { request } = parsed
  const store = (status: Application['status'], reasons: readonly ReviewReason[] = []) =>
    storeApplication(bank, { status, reasons, request, session_id, owner: login.id })
  const outcome = await bank.gate.protect<Application>({
    session_id,
    owner: login.id,
    // The bank's own record of what this session is for.
    workflow: login.sessions.get(session_id) ?? WORKFLOW,
    action: ACTION,
    // The digest of the form as sent now. A field changed after the approval changes the digest.
    form_digest: await bindingDigest(request),
    browser_secret: typeof fields.browser_secret === 'string' ? fields.browser_secret : undefined,
    accept: async () => store('accepted'),
    review: async (_tx, { reasons }) => store('in_review', reasons),
  })
  bank.log({ event: 'application', session_id, ...summaryOf(outcome) })
  // The bank clears the draft once the form is submitted.
  if ('result' in outcome) login.draft = undefined
  // A login that sends an application after its phone reported it cannot try again.
  else await recordReport(bank, login, session_id)
  return replyTo(bank, session_id, outcome)
}

function replyTo(bank: Bank, session_id: string, outcome: ProtectOutcome<Application>): Reply {
  switch (outcome.outcome) {
    case 'completion_pending':
      if (outcome.error.retryable) void completeLater(bank, session_id, outcome.decision)
      return received(outcome.result)
    case 'completed':
      return received(outcome.result)
    case 'review':
      return notApproved(outcome.advice.join(' '), outcome.reasons[0] ?? 'review')
    case 'rejected': {
      const status = outcome.error?.retryable ? 503 : 403
      return notApproved(outcome.advice.join(' '), outcome.reasons[0] ?? 'rejected', status)
    }
  }
}

function storeApplication(bank: Bank, application: Omit<Application, 'number'>): Application {
  const stored = {
    number: `L-${String(bank.applications.length + 1).padStart(6, '0')}`,
    ...application,
  }
  bank.applications.push(stored)
  return stored
}

function received({ number, status }: Application): Reply {
  const message =
    status === 'accepted'
      ? 'We have your application, approved with your phone. We will reply within a day.'
      : 'We have your application. An employee will review it before anything is decided, and may call you.'
  return json(201, { application: { number, status, message } })
}

function notApproved(message: string, reason: string, status = 403): Reply {
  return reject(status, 'not_approved', message, { reason })
}

function summaryOf(outcome: ProtectOutcome<Application>): object {
  const error = 'error' in outcome ? outcome.error : undefined
  const reasons = 'reasons' in outcome ? outcome.reasons : undefined
  const decision = 'decision' in outcome ? outcome.decision : undefined
  return {
    outcome: outcome.outcome,
    decision,
    reasons,
    error: error?.code,
    requestId: error?.requestId,
  }
}

/** Four more attempts, well within the lifetime of a bond. A real bank has a job queue for this. */
async function completeLater(
  bank: Bank,
  session_id: string,
  decision: 'accept' | 'review',
): Promise<void> {
  const outcome = decision === 'accept' ? 'accepted' : 'in_review'
  for (let round = 1; round <= 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5_000).unref())
    try {
      await bank.gate.complete(session_id, { outcome })
      return
    } catch (error) {
      bank.log({ event: 'completion_failed', session_id, round, error: String(error) })
    }
  }
}
