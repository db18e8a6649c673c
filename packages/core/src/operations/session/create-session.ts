import {
  type CreateSessionRequest,
  canonicalJson,
  type SessionContext,
  type SessionId,
  siteNetworkOf,
} from '@bonded/contract'
import type { WakeUp } from '../../collections/wake-ups.ts'
import { INBOX_PATH, isInbox } from '../../domain/inbox.ts'
import { findContextProblem } from '../../domain/labels.ts'
import { newSession, type SessionStart } from '../../domain/new-session.ts'
import { policyOf } from '../../domain/policy.ts'
import { accept, mapResult, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { isReadable } from '../../protocol/states.ts'
import { chooseAction, inScope, isRevoked } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { admitAll, bySubject } from '../inbox/admit-to-inbox.ts'
import { expireIfOverdue } from './find-and-expire.ts'
import type { BackendCaller, Service } from '../service.ts'
import { namesAnotherTenant } from '../tenant/tenant-names.ts'
import { phonesToWake } from '../inbox/wake-phones.ts'

/** The request without its null members. */
export interface SessionRequest extends Omit<WithoutNulls<CreateSessionRequest>, 'context'> {
  readonly context?: SessionContext
}

type WithoutNulls<T> = { readonly [Name in keyof T]: Exclude<T[Name], null> }

export interface CreateInput {
  readonly request: SessionRequest
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
  const drafted = await draftOf(service, caller, input.request)
  if (!drafted.ok) return drafted
  const { phone_number: phoneNumber } = input.request
  const created = await storeNew(service, caller, {
    ...input,
    drafts: [drafted.value],
    phoneNumber,
  })
  return mapResult(created, ([session]) => session)
}

/**
 * Checks a request, and returns what its sessions have in common.
 *
 * @param needed how many people must approve
 */
export async function draftOf(
  service: Service,
  caller: BackendCaller,
  request: SessionRequest,
  needed = 1,
): Promise<Result<Draft>> {
  const problem = request.context && findContextProblem(request.context)
  if (problem !== undefined) return reject('invalid_member', problem)
  const { tenant, scope } = caller.credential
  if (tenant.suspendedAt !== undefined) return reject('tenant_suspended')
  const { requester } = request.context ?? {}
  for (const member of ['name', 'detail'] as const) {
    const said = requester?.[member] ?? ''
    if (said !== '' && (await namesAnotherTenant(service, tenant, said)))
      return reject('invalid_member', {
        param: `context.requester.${member}`,
        detail: `The ${member} has words that look like the name of another organization.`,
      })
  }
  const chosen = chooseAction(tenant, scope, request)
  if (!chosen.ok) return chosen
  const { workflow, action } = chosen.value
  if (needed < (workflow.quorum?.needed ?? 1))
    return reject('quorum_required', { param: needed === 1 ? 'workflow' : 'needed' })

  const { publishableKey } = request
  if (publishableKey !== undefined) {
    const key = await service.store.read((tables) =>
      tables.tenants.findPublishableKey(publishableKey),
    )
    if (key?.tenant.id !== tenant.id || isRevoked(key, service.clock.now()))
      return reject('key_of_another_tenant', { param: 'publishableKey' })
    if (!inScope(key.scope, workflow.name))
      return reject('workflow_not_enabled', { param: 'publishableKey' })
    if (!inScope(key.scope, workflow.name, action))
      return reject('action_not_enabled', { param: 'publishableKey' })
  }

  const policy = policyOf(workflow)
  if (policy.subject === 'required' && request.subject_ref === undefined)
    return reject('subject_required', { param: 'subject_ref' })
  if (workflow.requester === 'required' && requester === undefined)
    return reject('requester_required', { param: 'context.requester' })

  return accept({
    tenantId: tenant.id,
    rootKeyId: service.keys.currentKeyId,
    workflow: workflow.name,
    action,
    policy,
    createdAt: service.clock.now(),
    context: request.context ?? null,
    wantedSubjectRef: request.subject_ref ?? null,
    notifies: tenant.notifies === true,
    // Only the network is compared later, so the address itself is never stored.
    endUserNetwork: siteNetworkOf(request.end_user_address ?? '') ?? null,
  })
}

/** One session of a create, or all those of a quorum. */
type AtLeastOne<T> = readonly [T, ...T[]]

interface NewSessions {
  readonly drafts: AtLeastOne<Draft>
  /** What the Idempotency-Key compares. */
  readonly request: object
  readonly phoneNumber?: string | undefined
  readonly idempotencyKey: string | undefined
}

/** Stores sessions in one transaction, or returns those that the Idempotency-Key has stored. */
export async function storeNew(
  service: Service,
  { credential }: BackendCaller,
  input: NewSessions,
): Promise<Result<AtLeastOne<Session>>> {
  const [draft, ...others] = input.drafts
  const identify = () =>
    [
      identified(service, draft, input),
      ...others.map((other) => identified(service, other, input)),
    ] as const
  const first = identify()
  const created = await service.store.write(function* (tables) {
    for (let sessions: AtLeastOne<Session> = first; ; sessions = identify()) {
      const made = yield* storeOnce(service, tables, { sessions, input, credential })
      if (made !== undefined) return made
    }
  })
  if (!created.ok) return created
  // Once the sessions are durable, and without waiting for a push service.
  service.wakeUps.add(created.value.wakeUps)
  return accept(created.value.sessions)
}

/** Stored sessions, and the phones to wake for them: none if they were stored before. */
interface Stored {
  readonly sessions: AtLeastOne<Session>
  readonly wakeUps: readonly WakeUp[]
}

/** A session before it has an id. */
type Draft = Omit<SessionStart, 'id' | 'sealedPhoneNumber'>

/** Gives the session an id, and seals the phone number for that id. */
function identified(
  { store, keys, random }: Service,
  draft: Draft,
  { phoneNumber: number }: NewSessions,
): Session {
  const id = store.newSessionId(draft.createdAt, random.id())
  const sealedPhoneNumber =
    number === undefined ? null : keys.sealNumber(draft.rootKeyId, id, number)
  return newSession({ ...draft, id, sealedPhoneNumber })
}

/** Returns undefined if another session of this millisecond has the primary key of the first. */
function* storeOnce(
  service: Service,
  tables: Tables,
  asking: Asking & { readonly input: NewSessions },
): Work<Result<Stored> | undefined> {
  const { sessions, input, credential } = asking
  const [session] = sessions
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
        if (!inScope(credential.scope, earlier.workflow, earlier.action))
          return reject('idempotency_mismatch', { param: 'Idempotency-Key' })
        const { quorumId } = earlier
        const all = quorumId === null ? [earlier] : yield* tables.sessions.ofQuorum(quorumId)
        const current: Session[] = []
        for (const each of all) current.push(yield* expireIfOverdue(service, tables, each))
        return accept({ sessions: current as [Session], wakeUps: [] })
      }
      // `takeKey` returns the id of a session that it has read, so the session exists.
    }
  }
  const made = isInbox(session)
    ? yield* storeInInbox(service, tables, asking)
    : (yield* tables.sessions.create(session)) && accept({ sessions, wakeUps: [] })
  if (made !== false && made.ok) return made
  if (key !== undefined) yield* tables.idempotency.release(session.tenantId, key, session.id)
  return made || undefined
}

interface Asking {
  readonly sessions: AtLeastOne<Session>
  readonly credential: BackendCaller['credential']
}

/** Stores sessions that wait in inboxes. False if the primary key of the first is in use. */
function* storeInInbox(
  service: Service,
  tables: Tables,
  { sessions, credential: { tenant, keyId: caller } }: Asking,
): Work<Result<Stored> | false> {
  const admitted = yield* admitAll(service, tables, { sessions, tenant, caller })
  if (!admitted.ok) return admitted
  const inboxUrl = `${service.settings.publicOrigin}${INBOX_PATH}`
  const stored: Session[] = []
  for (let session of admitted.value) {
    while (!(yield* tables.sessions.create(session, { inboxUrl }))) {
      // The row of the Idempotency-Key has this id.
      if (stored.length === 0) return false
      session = {
        ...session,
        id: service.store.newSessionId(session.createdAt, service.random.id()),
      }
    }
    stored.push(session)
  }
  const wakeUps: WakeUp[] = []
  for (const session of stored.toSorted(bySubject)) {
    yield* tables.sessions.countRequest(session, 'asked')
    wakeUps.push(...(yield* phonesToWake(service, tables, { session, tenant, caller })))
  }
  return accept({ sessions: stored as [Session], wakeUps })
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
  // Repeated only if another call released or took the key in between.
  while (!(yield* tables.idempotency.take(take))) {
    const row = yield* tables.idempotency.find(session.tenantId, key)
    if (row === undefined) continue
    const earlier = yield* tables.sessions.find(row.sessionId)
    if (
      earlier === undefined ||
      !isReadable(earlier, session.createdAt) ||
      !keys.holds(row.rootKeyId)
    ) {
      yield* tables.idempotency.release(session.tenantId, key, row.sessionId)
      continue
    }
    const sameBody = keys.same(keys.bodyMac(row.rootKeyId, body), row.bodyMac)
    return sameBody
      ? accept(row.sessionId)
      : reject('idempotency_mismatch', { param: 'Idempotency-Key' })
  }
  return accept(session.id)
}
