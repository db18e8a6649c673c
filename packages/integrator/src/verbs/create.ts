import {
  type CreatedSession,
  type CreateSessionRequest,
  encodeBase64url,
  type GivenContext,
  isOwner,
  Secret,
  withoutNulls,
} from '@bonded/contract'
import { GateError } from '../errors.ts'
import { createSession } from '../service/sessions.ts'
import { checkNamedUser } from './browser-rule.ts'
import type { GateDependencies } from './dependencies.ts'

/** The bond to create. An optional member that is null counts as omitted. */
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
  readonly context?: GivenContext | null | undefined
  /**
   * Allows a bond without a context or its digest. Nothing then binds the approval to the submitted
   * form. Pass it to `verify` or `protect` too.
   */
  readonly acceptAnyContext?: true
  /** The user's `subject_ref` of an earlier bond: only a phone of the same user can bond. */
  readonly subject_ref?: string | null | undefined
  /** The number on your record, E.164, for the carrier's checks. */
  readonly phone_number?: string | null | undefined
  /** The IP address of the browser, IPv4 or IPv6, without a port. */
  readonly end_user_address?: string | null | undefined
  readonly publishableKey?: string | null | undefined
}

/** A created session without its completion secret. */
export type PublicCreatedSession = Omit<CreatedSession, 'completion_secret'>

/** The random bytes of an Idempotency-Key: too many to guess, or to repeat by chance. */
const IDEMPOTENCY_KEY_BYTES = 24

/**
 * Removes the completion secret from the create response. Send the result to the browser.
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
  const { owner, acceptAnyContext, context, ...members } = bond
  // All visitors without a sign-in would share one owner, and could use each other's bonds.
  if (!isOwner(owner))
    throw new GateError(
      'invalid_request',
      'owner must be a non-empty string: the signed-in user, or the browser’s login.',
    )
  const context_digest = context?.digest ?? null
  // Without a digest, a page could submit another form than the one that the user approved.
  if ((context_digest === null || context_digest === '') && acceptAnyContext !== true)
    throw new GateError(
      'invalid_request',
      'Pass context.digest, the bindingDigest(record) of your own record; or acceptAnyContext.',
    )
  checkNamedUser(gate.policy, { workflow: bond.workflow, subject_ref: bond.subject_ref ?? null })
  const request = {
    ...withoutNulls(members),
    ...(context && { context: withoutNulls(context) }),
  } as CreateSessionRequest
  // One key for each call: a retry after a lost response returns the session already created.
  const key = encodeBase64url(gate.random(IDEMPOTENCY_KEY_BYTES))
  const created = await createSession(gate.service, request, key)
  await gate.store.put({
    session_id: created.id,
    workflow: bond.workflow,
    action: bond.action,
    owner,
    completion_secret: new Secret(created.completion_secret),
    context_digest,
    subject_ref: bond.subject_ref ?? null,
    created_at: new Date(gate.clock.now()).toISOString(),
    expires_at: created.expires_at,
    used_at: null,
  })
  return { session: publicSession(created) }
}
