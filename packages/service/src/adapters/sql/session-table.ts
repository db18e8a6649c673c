import type { SessionId } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import type { Move } from '../../domain/transitions.ts'
import type { SessionTable } from '../../ports/store.ts'
import type { Announce } from './announce.ts'
import { columnsOf, entryFromRow, eventFromRow, phoneFactsFromRow, SESSION_COLUMNS, sessionFromRow } from './session-row.ts'
import { row, rows, type SqlValue } from './statement.ts'

/** More lines than any honest session writes; a bound on what a stubborn phone can make us store. */
const MAX_NOTES = 200

const INSERT_SESSION = `insert into session (${SESSION_COLUMNS.join(', ')}) values (${SESSION_COLUMNS.map((_, at) => `$${at + 1}`).join(', ')})`
const INSERT_EVENT = `insert into session_event (session_id, seq, at, kind, state, hint, reason, step) values ($1, $2, $3, $4, $5, $6, $7, $8)`

const FIND_FOR_PHONE = `select session.*, tenant.name, tenant.environment, tenant.demo, tenant.origins, tenant.workflows,
    device.status as device_status, session_device.failures, pairwise_subject.subject_ref as pairwise_ref, device_continuity.mean
  from session
  join tenant on tenant.id = session.tenant_id
  join device on device.id = $2
  left join session_device on session_device.session_id = session.id and session_device.device_id = device.id
  left join pairwise_subject on pairwise_subject.tenant_id = session.tenant_id and pairwise_subject.subject_id = device.subject_id
  left join device_continuity on device_continuity.tenant_id = session.tenant_id and device_continuity.device_id = device.id
  where session.id = $1`

/** The sessions, their events and their timeline. */
export function sessionTable(announce: Announce): SessionTable {
  function* event(session: Session, at: { at: number; kind: string; reason?: string | null }) {
    yield* row(INSERT_EVENT, [session.id, session.seq, at.at, at.kind, session.state, session.hint, at.reason ?? null, null])
    const { seq, state, hint } = session
    announce({ sessionId: session.id, seq, change: { session, event: { seq, kind: at.kind, at: at.at, state, hint } } })
  }

  return {
    *create(session) {
      yield* row(INSERT_SESSION, columnsOf(session))
      yield* event(session, { at: session.createdAt, kind: 'created' })
    },

    *find(id) {
      const found = yield* row('select * from session where id = $1', [id])
      return found && sessionFromRow(found)
    },

    *move(id, move, { now, set = {}, guard }) {
      const values: SqlValue[] = [
        id,
        move.to,
        move.to === 'step_up_required' ? 'step_up' : null,
        now,
        move.to === 'killed' || move.to === 'completed' ? now : null,
        move.endedReason ?? null,
        set.expiresAt ?? null,
        set.deviceId ?? null,
        set.validAssertions ?? null,
        set.subjectRef ?? null,
        set.bondDigest ?? null,
        set.verification ? JSON.stringify(set.verification) : null,
        set.stepUp ? JSON.stringify(set.stepUp) : null,
        set.bondedAt ?? null,
        set.completedAt ?? null,
        set.nonce ?? null,
      ]
      if (guard) values.push(guard.deviceId, guard.validAssertions)
      const moved = yield* row(moveStatement(move, guard !== undefined), values)
      if (moved === undefined) return undefined
      const session = sessionFromRow(moved)
      yield* event(session, { at: move.to === 'expired' ? session.expiresAt : now, kind: move.to, reason: move.endedReason ?? null })
      return session
    },

    *countMiss(id, { now, guard, stepUp }) {
      const counted = yield* row(
        `update session set valid_assertions = valid_assertions + 1, step_up = $2
         where id = $1 and state = 'step_up_required' and expires_at > $3 and device_id = $4 and valid_assertions = $5 returning *`,
        [id, JSON.stringify(stepUp), now, guard.deviceId, guard.validAssertions],
      )
      return counted && sessionFromRow(counted)
    },

    *claim(id, { now, deviceId, nonce, claimedAt }) {
      const first = yield* row(
        `update session set device_id = $2, claimed_nonce = $3, claimed_at = $4, hint = 'scanned', seq = seq + 1
         where id = $1 and state = 'pending' and expires_at > $5 and device_id is null returning *`,
        [id, deviceId, nonce, claimedAt, now],
      )
      if (first !== undefined) {
        const session = sessionFromRow(first)
        yield* event(session, { at: now, kind: 'scanned' })
        return session
      }
      const again = yield* row(
        `update session set claimed_nonce = $3, claimed_at = $4
         where id = $1 and state = 'pending' and expires_at > $5 and device_id = $2 returning *`,
        [id, deviceId, nonce, claimedAt, now],
      )
      return again && sessionFromRow(again)
    },

    *hint(id, hint, now) {
      const hinted = yield* row(
        `update session set hint = $2, seq = seq + 1
         where id = $1 and state = 'pending' and expires_at > $3 and (hint is null or hint <> $2) returning *`,
        [id, hint, now],
      )
      if (hinted === undefined) return undefined
      const session = sessionFromRow(hinted)
      yield* event(session, { at: now, kind: hint })
      return session
    },

    *rememberOrigin(id, origin) {
      yield* row('update session set requesting_origin = $2 where id = $1 and requesting_origin is null', [id, origin])
    },

    *note(id, note) {
      yield* row(
        `insert into session_event (session_id, seq, at, kind, state, hint, reason, step)
         select $1, null, $2, $3, null, null, $4, $5 where (select count(*) from session_event where session_id = $1) < ${MAX_NOTES}`,
        [id, note.at, note.kind, note.reason ?? null, note.step ?? null],
      )
    },

    *timeline(id) {
      const entries = yield* rows('select * from session_event where session_id = $1 order by at, coalesce(seq, 0)', [id])
      return entries.map(entryFromRow)
    },

    *eventsAfter(id, seq) {
      const events = yield* rows('select * from session_event where session_id = $1 and seq > $2 order by seq', [id, seq])
      return events.map(eventFromRow)
    },

    *countFailure(id, deviceId) {
      const counted = yield* row(
        `insert into session_device (session_id, device_id, failures) values ($1, $2, 1)
         on conflict (session_id, device_id) do update set failures = session_device.failures + 1 returning failures`,
        [id, deviceId],
      )
      return Number(counted?.failures)
    },

    *findForPhone(id, deviceId) {
      const found = yield* row(FIND_FOR_PHONE, [id, deviceId])
      return found && phoneFactsFromRow(found)
    },

    *overdue(now, limit) {
      const found = yield* rows('select id from session where ended_at is null and expires_at <= $1 order by expires_at limit $2', [now, limit])
      return found.map(({ id }) => id as SessionId)
    },

    *forget(endedBefore, limit) {
      const doomed = yield* rows('select id from session where ended_at is not null and ended_at < $1 order by ended_at limit $2', [
        endedBefore,
        limit,
      ])
      for (const id of doomed.map((found) => found.id as SessionId)) {
        yield* row('delete from session_event where session_id = $1', [id])
        yield* row('delete from session_device where session_id = $1', [id])
        yield* row('delete from idempotency where session_id = $1', [id])
        yield* row('delete from session where id = $1', [id])
      }
      return doomed.length
    },

    *recent(tenantId, limit) {
      const found = yield* rows('select * from session where tenant_id = $1 order by created_at desc limit $2', [tenantId, limit])
      return found.map(sessionFromRow)
    },

    *rememberContinuity({ tenantId, deviceId, mean, now }) {
      yield* row(
        `insert into device_continuity (tenant_id, device_id, mean, updated_at) values ($1, $2, $3, $4)
         on conflict (tenant_id, device_id) do update set mean = excluded.mean, updated_at = excluded.updated_at`,
        [tenantId, deviceId, String(mean), now],
      )
    },
  }
}

const statements = new Map<Move, { free: string; guarded: string }>()

/** The guarded statement of a row of the transition table. The row it returns is the proof that the move happened. */
function moveStatement(move: Move, guarded: boolean): string {
  let built = statements.get(move)
  if (built === undefined) {
    // An expired session ended when its time was up, not when the sweeper came by.
    const expiring = move.to === 'expired'
    const free = `update session set seq = seq + 1, state = $2, hint = $3,
        pending_until = case when state = 'pending' then ${expiring ? 'expires_at' : '$4'} else pending_until end,
        ended_at = ${expiring ? 'coalesce($5, expires_at)' : '$5'}, ended_reason = $6,
        expires_at = coalesce($7, expires_at), device_id = coalesce(device_id, $8), valid_assertions = coalesce($9, valid_assertions),
        subject_ref = coalesce($10, subject_ref), bond_digest = coalesce($11, bond_digest), verification = coalesce($12, verification),
        step_up = $13, bonded_at = coalesce($14, bonded_at), completed_at = coalesce($15, completed_at), claimed_nonce = coalesce(claimed_nonce, $16)
      where id = $1 and state in (${move.from.map((state) => `'${state}'`).join(', ')}) and expires_at ${expiring ? '<=' : '>'} $4`
    built = {
      free: `${free} returning *`,
      guarded: `${free} and (device_id is null or device_id = $17) and valid_assertions = $18 returning *`,
    }
    statements.set(move, built)
  }
  return guarded ? built.guarded : built.free
}
