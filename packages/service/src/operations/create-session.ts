import {
  type CreateSessionRequest,
  canonicalJson,
  makeId,
  type SessionId,
  siteNetworkOf,
} from '@bonded/contract'
import { policyOf } from '../domain/policy.ts'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { isReadable, type Session } from '../domain/session.ts'
import { chooseAction, inScope, isRevoked, type Scope } from '../domain/tenant.ts'
import type { Tables, Work } from '../ports/store.ts'
import type { BackendCaller, Service } from './service.ts'

export interface CreateInput {
  readonly request: CreateSessionRequest
  readonly idempotencyKey: string | undefined
}

/**
 * Creates a pending session. The same Idempotency-Key and body return the same session: its key row
 * is written in the session's transaction, so neither a crash nor a race creates a second one.
 */
export async function createSession(
  service: Service,
  caller: BackendCaller,
  input: CreateInput,
): Promise<Result<Session>> {
  const { request } = input
  const { tenant, scope } = caller.credential
  const chosen = chooseAction(tenant, scope, request)
  if (!chosen.ok) return chosen
  const { workflow, action } = chosen.value

  const { publishableKey } = request
  if (publishableKey !== undefined) {
    const key = await service.store.read((tables) =>
      tables.tenants.findPublishableKey(publishableKey),
    )
    if (key?.tenant.id !== tenant.id || isRevoked(key, service.clock.now()))
      return refuse('key_of_another_tenant', { param: 'publishableKey' })
    if (!inScope(key.scope, workflow.name))
      return refuse('workflow_not_enabled', { param: 'publishableKey' })
    if (!inScope(key.scope, workflow.name, action))
      return refuse('action_not_enabled', { param: 'publishableKey' })
  }

  const policy = policyOf(workflow, tenant.environment)
  if (policy.subject === 'required' && request.subject_ref === undefined)
    return refuse('subject_required', { param: 'subject_ref' })

  const now = service.clock.now()
  const id = makeId('sess', service.random.id())
  const rootKeyId = service.keys.currentKeyId
  const { phone_number: number } = request
  const session: Session = {
    id,
    tenantId: tenant.id,
    rootKeyId,
    state: 'pending',
    seq: 1,
    hint: 'waiting_for_scan',
    workflow: workflow.name,
    action,
    policy,
    createdAt: now,
    expiresAt: now + policy.sessionTtlMs,
    sessionTtlMs: policy.sessionTtlMs,
    challengeTtlMs: policy.challengeTtlMs,
    bondedTtlMs: policy.bondedTtlMs,
    pendingUntil: null,
    bondedAt: null,
    completedAt: null,
    endedAt: null,
    endedReason: null,
    context: request.context ?? null,
    wantedSubjectRef: request.subject_ref ?? null,
    subjectRef: null,
    sealedPhoneNumber: number === undefined ? null : service.keys.sealNumber(rootKeyId, id, number),
    // Only the network is compared later, so the address itself is never stored.
    endUserNetwork: siteNetworkOf(request.end_user_address ?? '') ?? null,
    requestingOrigin: null,
    deviceId: null,
    claimedNonce: null,
    claimedAt: null,
    validAssertions: 0,
    bondDigest: null,
    verification: null,
    stepUp: null,
  }
  return service.store.write((tables) => storeOnce(service, tables, { session, input, scope }))
}

function* storeOnce(
  service: Service,
  tables: Tables,
  { session, input, scope }: { session: Session; input: CreateInput; scope: Scope },
): Work<Result<Session>> {
  const { idempotencyKey: key } = input
  if (key !== undefined) {
    const body = canonicalJson(input.request)
    const taken = yield* takeKey(service, tables, { session, key, body })
    if (!taken.ok) return taken
    if (taken.value !== session.id) {
      const earlier = yield* tables.sessions.find(taken.value)
      if (earlier !== undefined) {
        // A body without a workflow has one MAC for all credentials. The other credential may have
        // chosen a workflow that this one must not use.
        return inScope(scope, earlier.workflow, earlier.action)
          ? accept(earlier)
          : refuse('idempotency_mismatch', { param: 'Idempotency-Key' })
      }
      // The key row is purged with its session, so the session exists.
    }
  }
  yield* tables.sessions.create(session)
  return accept(session)
}

/** Returns the session of the key: this one, or the one that used the key first. */
function* takeKey(
  service: Service,
  tables: Tables,
  { session, key, body }: { session: Session; key: string; body: string },
): Work<Result<SessionId>> {
  const { keys } = service
  const take = {
    tenantId: session.tenantId,
    key,
    bodyMac: keys.bodyMac(session.rootKeyId, body),
    rootKeyId: session.rootKeyId,
    session,
  }
  if (yield* tables.idempotency.take(take)) return accept(session.id)

  const row = yield* tables.idempotency.find(session.tenantId, key)
  const earlier = row && (yield* tables.sessions.find(row.sessionId))
  if (
    row === undefined ||
    earlier === undefined ||
    !isReadable(earlier, session.createdAt) ||
    !keys.holds(row.rootKeyId)
  ) {
    yield* tables.idempotency.release(session.tenantId, key)
    yield* tables.idempotency.take(take)
    return accept(session.id)
  }
  const sameBody = keys.same(keys.bodyMac(row.rootKeyId, body), row.bodyMac)
  return sameBody
    ? accept(row.sessionId)
    : refuse('idempotency_mismatch', { param: 'Idempotency-Key' })
}
