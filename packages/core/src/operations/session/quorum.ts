import {
  type CreateQuorumRequest,
  makeId,
  type QuorumId,
  type SessionContext,
  type SessionId,
} from '@bonded/contract'
import { isInbox, isWithdrawn } from '../../domain/inbox.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Instant, Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { hasBond, hasPassed, mayMove, type Move, MOVES, stateAt } from '../../protocol/states.ts'
import { bySubject } from '../inbox/admit-to-inbox.ts'
import type { BackendCaller, Service } from '../service.ts'
import { draftOf, storeNew } from './create-session.ts'
import { expireIfOverdue, isAvailable, isVisible, readAndExpire } from './find-and-expire.ts'

/** The request without its null members. */
export interface QuorumRequest extends Pick<CreateQuorumRequest, 'subject_refs' | 'needed'> {
  readonly workflow?: string
  readonly action?: string
  readonly context: SessionContext
  /** Absent: none of the tenant's users asks. */
  readonly maker_ref?: string
}

/**
 * Creates a session in the inbox of each user of a quorum: all of them, or none. All have one
 * context, which names the rule, so that each phone shows and signs it.
 */
export async function createQuorum(
  service: Service,
  caller: BackendCaller,
  input: { readonly request: QuorumRequest; readonly idempotencyKey: string | undefined },
): Promise<Result<readonly Session[]>> {
  const { subject_refs: refs, needed, maker_ref: maker, ...shared } = input.request
  if (needed > refs.length)
    return reject('invalid_member', { param: 'needed', detail: 'It exceeds subject_refs.' })
  const own = maker === undefined ? -1 : refs.indexOf(maker)
  if (own >= 0)
    return reject('invalid_member', {
      param: `subject_refs.${own}`,
      detail: 'The maker does not approve the own request.',
    })
  const [subject_ref = '', ...others] = refs
  const drafted = await draftOf(service, caller, { ...shared, subject_ref }, needed)
  if (!drafted.ok) return drafted
  const draft = drafted.value
  if (!isInbox(draft))
    return reject('invalid_member', {
      param: 'workflow',
      detail: 'A quorum needs a workflow with delivery inbox.',
    })
  const id = makeId('quo', service.random.id())
  const context = { ...shared.context, quorum: { id, needed, of: refs.length } }
  const draftFor = (ref: string) => ({ ...draft, context, quorumId: id, wantedSubjectRef: ref })
  const drafts = [draftFor(subject_ref), ...others.map(draftFor)] as const
  return storeNew(service, caller, { ...input, drafts })
}

/**
 * Returns all sessions of a quorum at one instant. One that this key may not read, that was deleted
 * or that was emptied makes the quorum read as not found: its user may have said no.
 */
export function readQuorum(
  service: Service,
  { credential }: BackendCaller,
  id: QuorumId | undefined,
): Promise<Result<readonly Session[]>> {
  return readAndExpire(
    service,
    function* (tables): Work<Result<readonly Session[]>> {
      const found = id === undefined ? [] : yield* tables.sessions.ofQuorum(id)
      const isReadable = found.every(
        (each) =>
          isVisible(each, credential) &&
          isAvailable(service, each) &&
          each.context?.quorum?.of === found.length,
      )
      if (found.length === 0 || !isReadable) return reject('session_not_found')
      const current: Session[] = []
      for (const each of found) current.push(yield* expireIfOverdue(service, tables, each))
      return accept(current)
    },
    (found) =>
      found.ok ? found.value.find((each) => hasPassed(each, service.clock.now())) : undefined,
  )
}

/** Whether so many people of its quorum have approved that a session can be completed. */
export function* hasQuorum(tables: Tables, session: Session, now: Instant): Work<boolean> {
  if (session.quorumId === null) return true
  const all = yield* tables.sessions.ofQuorum(session.quorumId)
  const approved = all.filter((each) => hasBond({ state: stateAt(each, now) }))
  return approved.length >= (session.context?.quorum?.needed ?? Number.POSITIVE_INFINITY)
}

/**
 * Ends the other sessions of a quorum, because one of them has decided.
 *
 * @param isOpen which of them, beside what the table allows
 */
export function* decideOthers(
  tables: Tables,
  { quorumId }: Session,
  now: Instant,
  isOpen: (session: Session) => boolean = () => true,
): Work<readonly Session[]> {
  if (quorumId === null) return []
  const decided: Session[] = []
  for (const each of (yield* tables.sessions.ofQuorum(quorumId)).toSorted(bySubject)) {
    const ended = isOpen(each) && (yield* endIfLive(tables, each.id, MOVES.decide, { now }))
    if (ended) decided.push(ended)
  }
  return decided
}

/** Counts them at the end of a unit, as `SessionTable.countRequest` says. */
export function* countDecided(tables: Tables, decided: readonly Session[]): Work<void> {
  for (const session of decided)
    if (isWithdrawn(session)) yield* tables.sessions.countRequest(session, 'withdrawn')
}

/** Moves a session, unless its phone or its time was faster. */
export function* endIfLive(
  tables: Tables,
  id: SessionId,
  move: Move,
  change: Parameters<Tables['sessions']['move']>[2],
): Work<Session | undefined> {
  for (;;) {
    const session = yield* tables.sessions.find(id)
    if (session === undefined || !mayMove(session, move, change.now)) return undefined
    const moved = yield* tables.sessions.move(session, move, change)
    if (moved !== undefined) return moved
  }
}
