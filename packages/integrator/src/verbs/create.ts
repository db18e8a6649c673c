import {
  type CreatedSession,
  encodeBase64url,
  isOwner,
  Secret,
  type SessionContext,
} from '@bonded/contract'
import { GateError } from '../errors.ts'
import { createSession } from '../service/sessions.ts'
import type { GateDependencies } from './dependencies.ts'

/** The bond to create. */
export interface CreateBond {
  readonly workflow: string
  readonly action: string
  /**
   * The signed-in user or the browser's login: a non-empty string. Only the same owner can use
   * the bond.
   */
  readonly owner: string
  /**
   * The text that the phone shows and signs. Build it and its digest from your own record, never
   * from the browser's context.
   */
  readonly context?: SessionContext
  /** Allows a context without a digest. Pass it to `verify` or `protect` too. */
  readonly acceptAnyContext?: true
  /** The user's `subject_ref` of an earlier bond: only a phone of the same user can bond. */
  readonly subject_ref?: string
  /** The number on your record, E.164, for the carrier's checks. */
  readonly phone_number?: string
  /** The IP address of the browser, IPv4 or IPv6, without a port. */
  readonly end_user_address?: string
  readonly publishableKey?: string
}

/** A created session without its completion secret. */
export type PublicCreatedSession = Omit<CreatedSession, 'completion_secret'>

/** The random bytes of an Idempotency-Key: too many to guess, or to repeat by chance. */
const IDEMPOTENCY_KEY_BYTES = 24

/**
 * Removes the completion secret from the create answer. Send the result to the browser.
 *
 * @example 'completion_secret' in publicSession(created) // false
 */
export function publicSession(created: CreatedSession): PublicCreatedSession {
  const { completion_secret: _secret, ...session } = created
  return session
}

/** Creates the session, stores the row, and returns the session for the browser. */
export async function createBond<Tx>(
  gate: GateDependencies<Tx>,
  bond: CreateBond,
): Promise<{ session: PublicCreatedSession }> {
  const { owner, acceptAnyContext, ...request } = bond
  // All visitors without a sign-in would share one owner, and could use each other's bonds.
  if (!isOwner(owner))
    throw new GateError(
      'invalid_request',
      'owner must be a non-empty string: the signed-in user, or the browser’s login.',
    )
  if (bond.context && bond.context.digest === undefined && acceptAnyContext !== true)
    throw new GateError(
      'invalid_request',
      'A context needs a digest: pass `bindingDigest(record)`, or acceptAnyContext.',
    )
  // One key for each call: a retry after a lost answer returns the session already created.
  const key = encodeBase64url(gate.random(IDEMPOTENCY_KEY_BYTES))
  const created = await createSession(gate.service, request, key)
  await gate.store.put({
    session_id: created.id,
    workflow: bond.workflow,
    action: bond.action,
    owner,
    completion_secret: new Secret(created.completion_secret),
    context_digest: bond.context?.digest ?? null,
    subject_ref: bond.subject_ref ?? null,
    created_at: new Date(gate.clock.now()).toISOString(),
    expires_at: created.expires_at,
    used_at: null,
  })
  return { session: publicSession(created) }
}
