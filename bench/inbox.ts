import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import type { SessionId } from '@bonded/contract'
import { expireSessions } from '../packages/core/src/operations/maintenance/expire-sessions.ts'
import type { Clock } from '../packages/core/src/ports/clock.ts'
import { sql } from '../packages/server/tests/subject/stored-bytes.ts'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { SessionKeys } from '../packages/store/src/tables/session-keys.ts'
import { type HarnessOptions, ROOT_KEY } from '../tests/harness/harness.ts'
import { bondedUser, HOUR, inboxHarness, inboxRequest } from '../tests/harness/inbox.ts'
import { median, tenths } from './process.ts'
import { BenchPostgres } from './postgres-nodes.ts'

/**
 * Measures inboxes with a million waiting sessions of 200,000 users, on SQLite and on PostgreSQL:
 * creates and the list of one phone, compared with a service without these sessions, and the expiry
 * of sessions beside lists. Each call passes the whole service, and its client is in this process.
 * Prints one line of JSON for each store.
 */
const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 1_000_000)
const WAITING_EACH = 5
const USERS = Math.max(1_000, SESSIONS / WAITING_EACH)
const ROUNDS = 15
/** Statements are prepared, and code is compiled. */
const WARM_UP_ROUNDS = 3
const CREATES = 20
const PHONES = 10
const LISTS = 20
/** The sessions are created evenly in this time, and end a day later. */
const SPAN_MS = 23 * HOUR
/** This many sessions expire at once. */
const EXPIRING = SESSIONS / 50
const BATCH = 10_000

type Scene = Awaited<ReturnType<typeof inboxHarness>>

/** The users with these numbers have one request less, so that one more finds room. */
const ASKED = (WARM_UP_ROUNDS + ROUNDS) * CREATES

const postgres = await BenchPostgres.start()
for (const store of ['sqlite', 'postgres'] as const) {
  const options = store === 'sqlite' ? {} : { onPostgres: postgres.server }
  await using empty = await open(options, 0)
  await using full = await open(options, SESSIONS)
  const creates = await compareCreates(empty, full)
  const list_empty_ms = spread(await times(PHONES * LISTS, (index) => list(empty, index)))
  const cpu = process.cpuUsage()
  const lists = await times(PHONES * LISTS, (index) => list(full, index))
  const { user, system } = process.cpuUsage(cpu)
  const list_cpu_ms = tenths((user + system) / 1_000 / lists.length)
  const expiry = await expire(full)
  const list_ms = spread(lists)
  const figures = { ...creates, list_empty_ms, list_ms, list_cpu_ms, ...expiry }
  console.log(JSON.stringify({ store, waiting: SESSIONS, ...figures }))
}
await postgres.stop()

/** Opens a service whose users have so many requests in their inboxes. */
async function open(options: HarnessOptions, sessions: number) {
  const scene = await inboxHarness(options)
  const phones = [scene.phone]
  const references = [scene.subjectRef]
  while (phones.length < PHONES) {
    const { phone, subjectRef } = await bondedUser(scene.h)
    phones.push(phone)
    references.push(subjectRef)
  }
  const first = await scene.tryCreate({ workflow: 'day' })
  scene.h.clock.advance(1)
  await fill(scene, { id: first.body.id, sessions })
  scene.h.clock.advance(SPAN_MS)
  for (const [index, subject_ref] of references.entries())
    for (let n = index === 0 ? 1 : 0; n < WAITING_EACH; n++)
      must((await scene.tryCreate({ workflow: 'day', subject_ref })).status === 201)
  return { ...scene, phones }
}

/** Copies the user and the request by SQL, under other ids. */
async function fill({ h, phone }: Scene, of: { id: SessionId; sessions: number }): Promise<void> {
  const [key] = await sql(h, 'select sealed from session_id_key')
  const { idKeys } = keyringOf([ROOT_KEY])
  const keys = new SessionKeys(idKeys.open(String(key?.sealed)).cipher)
  await sql(h, 'create table bench (n bigint, later bigint, id text, session_key bigint)')
  const now = h.clock.now()
  for (let from = 0; from < Math.max(of.sessions, USERS); from += BATCH) {
    const rows = Array.from({ length: BATCH }, (_, index) => {
      const later = Math.round(((from + index) * SPAN_MS) / Math.max(1, of.sessions))
      const id = keys.newId(now + later, randomBytes(16))
      return `(${from + index}, ${later}, '${id}', ${keys.of(id)})`
    })
    await sql(h, `insert into bench values ${rows.join()}`)
  }
  const numbered = (column: string) =>
    `substr(${column}, 1, length(${column}) - 6) || substr(cast(1000000 + n % ${USERS} as text), 2)`
  const subject = `subject_id = '${phone.subject_id}'`
  const users = `n < ${USERS}`
  const waits = `n >= ${ASKED} and n < ${of.sessions}`
  const [found] = await sql(h, `select session_key from session where id = '${of.id}'`)
  const session = `session.session_key = ${String(found?.session_key)}`
  for (const [table, where, changed] of [
    ['device', `${users} and ${subject}`, 'id subject_id key_id token_id'],
    ['pairwise_subject', `${users} and ${subject}`, 'subject_id subject_ref'],
    ['session', `${waits} and ${session}`, 'inbox_subject_id wanted_subject_ref'],
    ['session_event', `${waits} and ${session.replace('session.', 'session_event.')}`, ''],
  ] as const) {
    const [row] = await sql(h, `select * from ${table} limit 1`)
    const columns = Object.keys(row ?? {}).filter((column) => column !== 'ordinal')
    const copied = columns.map((column) => {
      if (changed.split(' ').includes(column)) return numbered(`${table}.${column}`)
      if (table.startsWith('session') && /^(?:id|session_key)$/.test(column))
        return `bench.${column}`
      return table.startsWith('session') && /(?:^|_)at$/.test(column)
        ? `${table}.${column} + later`
        : `${table}.${column}`
    })
    await sql(
      h,
      `insert into ${table} (${columns.join()})
       select ${copied.join()} from bench, ${table} where ${where} order by n`,
    )
  }
  await sql(h, 'drop table bench')
  await sql(h, 'analyze')
}

/** One more request for each of the users, in both services in turns. */
async function compareCreates(empty: Scene, full: Scene) {
  const rounds: [number, number][] = []
  let user = 0
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const from = user
    user += CREATES
    const [few, many] = [
      median(await times(CREATES, (index) => create(empty, from + index))),
      median(await times(CREATES, (index) => create(full, from + index))),
    ]
    if (round >= 0) rounds.push([few, many])
  }
  return {
    create_empty_ms: tenths(median(rounds.map(([few]) => few))),
    create_ms: tenths(median(rounds.map(([, many]) => many))),
    create_ratio: Number(median(rounds.map(([few, many]) => many / few)).toFixed(2)),
  }
}

async function create({ tryCreate, subjectRef }: Scene, user: number): Promise<void> {
  const subject_ref = `${subjectRef.slice(0, -6)}${String(1_000_000 + user).slice(1)}`
  must((await tryCreate({ workflow: 'day', subject_ref })).status === 201)
}

async function list({ h, phones }: Awaited<ReturnType<typeof open>>, at: number): Promise<void> {
  const phone = phones[at % PHONES]
  if (phone === undefined) return
  h.clock.advance(1)
  const body = inboxRequest(phone, h.now())
  const listed = await h.api('POST', '/inbox', { token: phone.device_token, body })
  // The request that was copied may have expired.
  must(listed.body.items.length >= WAITING_EACH - 1)
}

/** Expires a fiftieth of the sessions in the batches of the maintenance, beside lists. */
async function expire(full: Awaited<ReturnType<typeof open>>) {
  const { service, clock } = full.h
  const at = clock.now() + 24 * HOUR - SPAN_MS + SPAN_MS / 50
  const later: Clock = {
    now: () => at,
    elapsed: () => clock.elapsed(),
    schedule: (...given) => clock.schedule(...given),
  }
  const batches: number[] = []
  const lists: number[] = []
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  let expired = 0
  const running = { isDone: false }
  const sweep = async () => {
    for (let more = true; more && expired < EXPIRING; await turn()) {
      const began = performance.now()
      const batch = await expireSessions({ ...service, clock: later })
      batches.push(performance.now() - began)
      expired += batch.done
      more = batch.more
    }
    running.isDone = true
  }
  const beside = async () => {
    while (!running.isDone) lists.push(...(await times(1, () => list(full, lists.length))))
  }
  await Promise.all([sweep(), beside()])
  loop.disable()
  return {
    expired,
    expiry_batch_ms: spread(batches),
    list_beside_expiry_ms: spread(lists),
    loop_delay_ms: { p99: tenths(loop.percentile(99) / 1e6), max: tenths(loop.max / 1e6) },
  }
}

async function times(count: number, work: (at: number) => Promise<void>): Promise<number[]> {
  const found: number[] = []
  for (let index = 0; index < count; index++) {
    const began = performance.now()
    await work(index)
    found.push(performance.now() - began)
  }
  return found
}

function spread(found: readonly number[]) {
  const sorted = found.toSorted((a, b) => a - b)
  const at = (share: number) => tenths(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

function must(done: boolean): void {
  if (!done) throw new Error('the service did not complete the measured operations')
}
