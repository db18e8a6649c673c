import { bindingDigest, GateError } from '@bonded/integrator'
import { ACTION, type Bank, WORKFLOW } from '../bank.ts'
import type { FormBody } from '../http/body.ts'
import { json, type Reply, reject } from '../http/reply.ts'
import { displayOf } from '../loan-form.ts'
import type { Login } from '../logins.ts'

/**
 * POST /bond-session: the widget's `sessionEndpoint`. It ignores the `context` that the browser
 * sends: the phone shows and signs the bank's own draft.
 */
export async function bondSession(facts: {
  bank: Bank
  login: Login
  form: FormBody
  address: string | undefined
}): Promise<Reply> {
  const { bank, login, form, address } = facts
  const { workflow = WORKFLOW, action = ACTION } = form.fields
  if (!isOffered(bank, workflow) || action !== ACTION)
    return reject(400, 'not_offered', 'This page is for loan applications only.')
  const { draft } = login
  if (draft === undefined)
    return reject(
      409,
      'draft_missing',
      'Fill in the form first. Then your phone can show what you approve.',
    )
  try {
    const { session } = await bank.gate.create({
      workflow,
      action: ACTION,
      owner: login.id,
      context: { display: displayOf(draft), digest: await bindingDigest(draft) },
      publishableKey: bank.publishableKey,
      ...(address !== undefined && { end_user_address: address }),
    })
    bank.logins.addSession(login, { id: session.id, workflow })
    return json(201, session)
  } catch (error) {
    if (!(error instanceof GateError)) throw error
    bank.log({
      event: 'bond_session_failed',
      code: error.code,
      reason: error.reason,
      requestId: error.requestId,
    })
    return reject(
      503,
      'approval_unavailable',
      'Approving by phone does not work just now. Nothing was sent. Try again in a minute.',
    )
  }
}

/** The bank's workflow, and those of the demo's scenarios. */
function isOffered({ demo }: Bank, workflow: unknown): workflow is string {
  const offered = [WORKFLOW, ...(demo?.scenarios ?? []).map((scenario) => scenario.workflow)]
  return typeof workflow === 'string' && offered.includes(workflow)
}
