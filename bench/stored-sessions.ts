import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { makeId, type PulseVerification, type SessionId } from '@bonded/contract'
import { localBus } from '../packages/server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { migrate } from '../packages/store/src/migrations/migrate.ts'
import { SessionKeys } from '../packages/store/src/tables/session-keys.ts'
import { SqliteStore } from '../packages/store/src/sqlite/sqlite-store.ts'
import {
  IDEMPOTENCY_KEY_TTL_MS,
  RETENTION_AFTER_END_MS,
  SESSION_TTL_SECONDS,
} from '../packages/core/src/domain/lifetimes.ts'
import { newSession as pendingSession } from '../packages/core/src/domain/new-session.ts'
import { policyOf } from '../packages/core/src/domain/policy.ts'
import type { Session } from '../packages/core/src/domain/session.ts'
import { MOVES } from '../packages/core/src/protocol/states.ts'
import type { Store, Unit } from '../packages/core/src/ports/store.ts'

const tenantId = makeId('ten', randomBytes(16))
const DEVICE_ID = makeId('dev', randomBytes(16))
const policy = policyOf({ name: 'w', actions: ['a'] })
const verification: PulseVerification = {
  device_possession: true,
  key_attested: true,
  local_auth: 'verified',
  assertion_confidence: 0.71,
  human_presence_confidence: 0.8,
  assertion_band: 'medium',
  continuity_score_long_lived: 0.84,
  carrier: { number_verified: false, sim_swap_recent: false, device_status: 'unknown' },
  sensor_continuity: { motion_present: true, continuity_score: 0.84 },
}

/** Opens a store on a file of the benchmark. */
export function openStore(file: string): Store {
  return new SqliteStore(file, { bus: localBus(), idKeys })
}

const { idKeys } = keyringOf([{ id: 'k1', bytes: randomBytes(32) }])

/** A session as the service creates it, with the data that a bank would bind to it. */
export function newSession(store: Store, now: number): Session {
  return pendingSession({
    id: store.newSessionId(now, randomBytes(16)),
    tenantId,
    rootKeyId: 'k1',
    workflow: 'w',
    action: 'a',
    policy,
    createdAt: now,
    context: {
      display: [{ label: 'Amount', value: '€12,500' }],
      digest: randomBytes(32).toString('base64url'),
    },
    wantedSubjectRef: null,
    sealedPhoneNumber: null,
    endUserNetwork: null,
    notifies: false,
  })
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
    return (yield* tables.sessions.create(session)) && fresh
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
 * alternating, so that reads and purges touch similar rows at every size. The sessions ended evenly
 * over the 24 hours until now, as in a service that has this number of stored sessions.
 *
 * @returns their ids, in the order in which they ended
 */
export async function fill(
  file: string,
  { sessions, now }: { sessions: number; now: number },
): Promise<SessionId[]> {
  migrate(file, now)
  const everyMs = RETENTION_AFTER_END_MS / sessions
  const firsts = await storeOneOfEach(file, now - RETENTION_AFTER_END_MS)
  return copies(file, firsts, { sessions, everyMs, keysFrom: now - IDEMPOTENCY_KEY_TTL_MS })
}

/** Through the store itself: one that was bonded and completed, and one that expired. */
async function storeOneOfEach(file: string, now: number): Promise<readonly Session[]> {
  await using store = openStore(file)
  const tenant = { id: tenantId, name: 'T', environment: 'sandbox', demo: false } as const
  await store.write(({ tenants }) => tenants.create({ ...tenant, origins: [], workflows: [] }, now))
  const completed = newSession(store, now)
  await store.write(create(completed))
  await store.write(bond(completed.id, now))
  await store.write(complete(completed.id, now))
  const expired = newSession(store, now - SESSION_TTL_SECONDS * 1_000)
  await store.write(create(expired))
  await store.write(expire(expired, now))
  return [completed, expired]
}

/** By name, so that a column added later is included. */
const INSTANT = /(^|_)(at|until)$/

/**
 * Inserts by SQL without a journal: a million rows in half a minute, identical to the rows that the
 * store wrote for the first sessions. Each table gets them in the order of its main key, as from a
 * running service.
 */
function copies(
  file: string,
  firsts: readonly Session[],
  options: { sessions: number; everyMs: number; keysFrom: number },
): SessionId[] {
  const { sessions, everyMs, keysFrom } = options
  using database = new DatabaseSync(file)
  database.exec(
    'pragma journal_mode = delete; pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1000000; begin',
  )
  const key = database.prepare('select sealed from session_id_key').get()
  const keys = new SessionKeys(idKeys.open(String(key?.sealed)).cipher)
  database.exec(
    `create temp table kind (number integer primary key, id text, session_key integer);
     create temp table fresh (n integer primary key, later integer, id text, session_key integer)`,
  )
  for (const [number, { id }] of firsts.entries())
    database.prepare('insert into kind values (?, ?, ?)').run(number, id, keys.of(id))
  const insert = database.prepare('insert into fresh values (?, ?, ?, ?)')
  const ids = firsts.map(({ id }) => id)
  for (let n = firsts.length; n < sessions; n++) {
    const first = firsts[n % firsts.length] as Session
    const later = Math.round(n * everyMs)
    const id = keys.newId(first.createdAt + later, randomBytes(16))
    insert.run(n, later, id, keys.of(id))
    ids.push(id)
  }
  for (const { table, by, where = 'true' } of [
    { table: 'session', by: 'id' },
    { table: 'session_event', by: 'session_key' },
    {
      table: 'idempotency',
      by: 'session_id',
      where: `session_began_at + later >= ${keysFrom}`,
    },
  ]) {
    const columns = database
      .prepare(`select * from ${table}`)
      .columns()
      .map(({ name }) => name)
    const copied = columns.map((column) => {
      if (column === 'session_key') return 'fresh.session_key'
      if (column === by) return 'fresh.id'
      if (column === 'key_hash') return 'randomblob(16)'
      return INSTANT.test(column) ? `${column} + later` : column
    })
    const same = by === 'session_key' ? 'kind.session_key' : 'kind.id'
    database.exec(
      `create temp table first_${table} as select number, ${table}.* from ${table} join kind on ${same} = ${table}.${by}`,
    )
    database.exec(
      `insert into ${table} (${columns.join(', ')})
       select ${copied.join(', ')} from fresh cross join first_${table} as first
       where first.number = n % ${firsts.length} and ${where} order by fresh.session_key`,
    )
  }
  // Keys of the first sessions are older than any that a service stores.
  database.prepare('delete from idempotency where session_began_at < ?').run(keysFrom)
  database.exec('commit')
  return ids
}

function digest(): string {
  return randomBytes(32).toString('base64url')
}
