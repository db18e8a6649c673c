import { type CompletionOutcome, parseId } from '@bonded/contract'
import { GateError } from '../errors.ts'
import { completeSession } from '../service/sessions.ts'
import type { GateDependencies } from './dependencies.ts'

/** The options of a completion. */
export interface Completion {
  /**
   * What the phone and the page show the user: the request is `accepted`, or `in_review`. If
   * omitted, they show that the request is complete, as for `accepted`, but the phone's key does
   * not become known. The first completion counts: a repetition does not change it.
   */
  readonly outcome?: CompletionOutcome | undefined
}

/** Completes the session once the action is durable. Safe to repeat until it succeeds. */
export async function completeBond<Tx>(
  gate: GateDependencies<Tx>,
  session_id: string,
  { outcome }: Completion = {},
): Promise<void> {
  const id = parseId('sess', session_id)
  const row = id && (await gate.store.find(id))
  if (id === undefined || row === undefined)
    throw new GateError('session_unknown', 'The pending store has no row for this session.')
  // The phone shows success on completion, so the action must have succeeded.
  if (row.used_at === null)
    throw new GateError(
      'action_not_committed',
      'Complete a session after its action has committed.',
    )
  await completeSession(gate.service, {
    session_id: id,
    completion_secret: row.completion_secret,
    context_digest: row.context_digest,
    outcome,
  })
}
