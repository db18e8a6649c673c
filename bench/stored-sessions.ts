import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { makeId, type PulseVerification, type SessionId } from '@bonded/contract'
import { localBus } from '../packages/service/src/adapters/bus/local-bus.ts'
import { migrate } from '../packages/service/src/adapters/sql/migrate.ts'
import { SqliteStore } from '../packages/service/src/adapters/sql/sqlite-store.ts'
import { SESSION_TTL_SECONDS } from '../packages/service/src/domain/lifetimes.ts'
import { policyOf } from '../packages/service/src/domain/policy.ts'
import type { Session } from '../packages/service/src/domain/session.ts'
import { MOVES } from '../packages/service/src/domain/transitions.ts'
import type { Unit } from '../packages/service/src/ports/store.ts'

const tenantId = makeId('ten', randomBytes(16))
const DEVICE_ID = makeId('dev', randomBytes(16))
const policy = policyOf({ name: 'w', actions: ['a'] }, 'production')
const verification: PulseVerification = {
  device_possession: true,
  local_auth: 'verified',
  assertion_confidence: 0.71,
  human_presence_confidence: 0.8,
  assertion_band: 'medium',
  continuity_score_long_lived: 0.84,
  carrier: { number_verified: false, sim_swap_recent: false, device_status: 'unknown' },
  sensor_continuity: { motion_present: true, continuity_score: 0.84 },
}

/** A session as the service creates it, with the data that a bank would bind to it. */
export function newSession(now: number): Session {
  return {
    id: makeId('sess', randomBytes(16)),
    tenantId,
    rootKeyId: 'k1',
    state: 'pending',
    seq: 1,
    hint: 'waiting_for_scan',
    workflow: 'w',
    action: 'a',
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
    context: {
      display: [{ label: 'Amount', value: '€12,500' }],
      digest: randomBytes(32).toString('base64url'),
    },
    wantedSubjectRef: null,
    subjectRef: null,
    sealedPhoneNumber: null,
    endUserNetwork: null,
    requestingOrigin: null,
    deviceId: null,
    claimedNonce: null,
    claimedAt: null,
    validAssertions: 0,
    bondDigest: null,
    verification: null,
    stepUp: null,
  }
}

/** Stores a session as `POST /sessions` with an Idempotency-Key does. */
export function create(session: Session): Unit<boolean> {
  return function* (tables) {
    const { id, rootKeyId } = session
    const fresh = yield* tables.idempotency.take({
      tenantId,
      key: `order-${id}`,
      bodyMac: digest(),
      rootKeyId,
      session,
    })
    yield* tables.sessions.create(session)
    return fresh
  }
}

export function bond(id: SessionId, now: number): Unit<boolean> {
  return function* (tables) {
    const session = yield* tables.sessions.find(id)
    const set = {
      verification,
      bondDigest: digest(),
      bondedAt: now,
      nonce: digest(),
      deviceId: DEVICE_ID,
      subjectRef: digest(),
      validAssertions: 1,
    }
    return (
      session !== undefined &&
      (yield* tables.sessions.move(session, MOVES.bond, { now, set })) !== undefined
    )
  }
}

export function complete(id: SessionId, now: number): Unit<boolean> {
  return function* (tables) {
    const session = yield* tables.sessions.find(id)
    return (
      session !== undefined &&
      (yield* tables.sessions.move(session, MOVES.complete, { now, set: { completedAt: now } })) !==
        undefined
    )
  }
}

function expire(session: Session, now: number): Unit<boolean> {
  return function* (tables) {
    return (yield* tables.sessions.move(session, MOVES.expire, { now })) !== undefined
  }
}

/**
 * Fills a new file with sessions of the two kinds that a round of the benchmark creates,
 * alternating, so that reads and purges touch similar rows at every size. The sessions ended one
 * after the other, the last one now.
 *
 * @returns their ids, in the order in which they ended
 */
export async function fill(
  file: string,
  { sessions, now }: { sessions: number; now: number },
): Promise<SessionId[]> {
  migrate(file, now)
  return copies(file, await storeOneOfEach(file, now - sessions), sessions)
}

/** Through the store itself: one that was bonded and completed, and one that expired. */
async function storeOneOfEach(file: string, now: number): Promise<readonly SessionId[]> {
  await using store = new SqliteStore(file, { bus: localBus() })
  const completed = newSession(now)
  await store.write(create(completed))
  await store.write(bond(completed.id, now))
  await store.write(complete(completed.id, now))
  const expired = newSession(now - SESSION_TTL_SECONDS * 1_000)
  await store.write(create(expired))
  await store.write(expire(expired, now))
  return [completed.id, expired.id]
}

/** By name, so that a column added later is included. */
const INSTANT = /(^|_)(at|until)$/

/**
 * Inserts by SQL without a journal: a million rows in half a minute, identical to the rows that the
 * store wrote for the first sessions.
 */
function copies(file: string, firsts: readonly SessionId[], sessions: number): SessionId[] {
  using database = new DatabaseSync(file)
  database.exec(
    'pragma journal_mode = delete; pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1000000; begin',
  )
  database.exec('create temp table kind (number integer primary key, id text)')
  for (const [number, id] of firsts.entries())
    database.prepare('insert into kind values (?, ?)').run(number, id)
  database.exec('create temp table fresh (n integer primary key, id text)')
  // Hexadecimal digits are base62 digits too, and 22 of them are as long and as random in order as
  // an id.
  database
    .prepare(
      `insert into fresh with recursive counted (n) as (select ? union all select n + 1 from counted where n < ?)
       select n, 'sess_' || hex(randomblob(11)) from counted`,
    )
    .run(firsts.length, sessions - 1)
  for (const [table, key] of [
    ['session', 'id'],
    ['session_event', 'session_id'],
    ['idempotency', 'session_id'],
  ] as const) {
    const columns = database
      .prepare(`select * from ${table}`)
      .columns()
      .map(({ name }) => name)
    const copied = columns.map((column) => {
      if (column === key) return 'fresh.id'
      if (column === 'idempotency_key') return `'order-' || fresh.id`
      return INSTANT.test(column) ? `${column} + n` : column
    })
    database.exec(
      `create temp table first_${table} as select number, ${table}.* from ${table} join kind on kind.id = ${table}.${key}`,
    )
    database.exec(
      `insert into ${table} (${columns.join(', ')})
       select ${copied.join(', ')} from fresh cross join first_${table} where number = n % ${firsts.length}`,
    )
  }
  const ids = database.prepare('select id from fresh order by n').all()
  database.exec('commit')
  return [...firsts, ...ids.map(({ id }) => id as SessionId)]
}

function digest(): string {
  return randomBytes(32).toString('base64url')
}
