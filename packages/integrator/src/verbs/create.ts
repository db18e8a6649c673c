import { type CreatedSession, encodeBase64url, type SessionContext } from '@bonded/contract'
import { GateError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { createSession } from '../service/sessions.ts'
import type { GateParts } from './parts.ts'

/** What to bond, and for whom. */
export interface CreateBond {
  readonly workflow: string
  readonly action: string
  /** The signed-in user or browser login that asks. Only the same owner can use the bond. */
  readonly owner: string
  /** What the phone shows and signs. Make it from your own record, never from what the browser calls context. */
  readonly context?: SessionContext
  /** The known customer, as an earlier bond named them: no other phone is taken. */
  readonly subject_ref?: string
  /** The number on your record, E.164, for the carrier's checks. */
  readonly phone_number?: string
  /** The IP address of the browser. */
  readonly end_user_address?: string
  readonly publishableKey?: string
}

/** A created session without what the browser must not have. */
export type PublicCreatedSession = Omit<CreatedSession, 'completion_secret'>

/** The bytes of an Idempotency-Key: too many to be guessed or to meet by chance. */
const IDEMPOTENCY_KEY_BYTES = 24

/**
 * The create answer without its completion secret: what the browser may have.
 *
 * @example 'completion_secret' in publicSession(created) // false
 */
export function publicSession(created: CreatedSession): PublicCreatedSession {
  const { completion_secret: _kept, ...session } = created
  return session
}

/** Creates the session, keeps the row, and gives what the browser may have. */
export async function createBond<Tx>(
  parts: GateParts<Tx>,
  bond: CreateBond,
): Promise<{ session: PublicCreatedSession }> {
  const { owner, ...request } = bond
  // Everybody without a login would share one owner, and could use each other's bonds.
  if (owner === '')
    throw new GateError(
      'invalid_request',
      'A bond needs an owner: the signed-in user, or the browser’s login.',
    )
  // One key a call: a try whose answer was lost is answered with the session that it had created.
  const key = encodeBase64url(parts.random(IDEMPOTENCY_KEY_BYTES))
  const created = await createSession(parts.service, request, key)
  await parts.store.put({
    session_id: created.id,
    workflow: bond.workflow,
    action: bond.action,
    owner,
    completion_secret: new Secret(created.completion_secret),
    context_digest: bond.context?.digest ?? null,
    subject_ref: bond.subject_ref ?? null,
    created_at: new Date(parts.clock.now()).toISOString(),
    expires_at: created.expires_at,
    used_at: null,
  })
  return { session: publicSession(created) }
}
