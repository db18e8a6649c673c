import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { makeId } from '@bonded/contract'
import { edgeTiles, MerkleTree } from '../packages/core/src/domain/merkle.ts'
import { HOUR_MS } from '../packages/core/src/domain/totals.ts'
import { recordAction } from '../packages/core/src/operations/audit/audit.ts'
import { appendReceipts } from '../packages/core/src/operations/receipt/receipt-log.ts'
import { readTiles } from '../packages/core/src/operations/receipt/read-tiles.ts'
import { type Names as SceneNames, namesIn } from '../packages/console/tests/addresses.ts'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { SessionKeys } from '../packages/store/src/tables/session-keys.ts'
import { type Harness, ROOT_KEY } from '../tests/harness/harness.ts'
import { runSql } from '../packages/store/tests/servers/postgres.ts'

export interface Sizes {
  readonly tenants: number
  readonly sessions: number
  readonly receipts: number
}

/** What the addresses of the measured pages name. */
export interface Names extends SceneNames {
  readonly waiting: string
  readonly request: string
}

const BATCH = 10_000
const LOG_BATCH = 50_000
const DAY_MS = 24 * HOUR_MS
const YEAR_HOURS = 365 * 24
/** Coprime to the hours of a year, so that the hours of one tenant differ. */
const HOURS_APART = 87

/**
 * Fills a service by SQL with copies of rows that it has stored itself: tenants, sessions of a day
 * with their timelines, rejections of a month, and receipts, their log, totals and audit entries of
 * a year.
 */
export async function fill(h: Harness, sizes: Sizes): Promise<Names> {
  const { session, phone } = await h.reach('completed')
  const refused = await h.claim(phone, { ...session, nonce: 'A'.repeat(43) })
  await receiptOf(h, session)
  await recordAction(h.service, {
    action: 'key issue',
    actor: { kind: 'operator', name: 'ada' },
    requestId: makeId('req', randomBytes(16)),
    target: { tenantId: h.shop.tenant.id },
  })
  await appendReceipts(h.service)
  await sql(h, 'create table bench_tenant (n bigint primary key, id text)')
  await insert(h, 'bench_tenant', sizes.tenants, (n) => {
    return `${n}, '${n === 0 ? h.shop.tenant.id : makeId('ten', randomBytes(16))}'`
  })
  await sql(
    h,
    `create table bench as with recursive counted (n) as
       (select cast(1 as bigint) union all select n + 1 from counted where n < ${sizes.receipts - 1})
     select n from counted`,
  )
  await copyTenants(h)
  await copySessions(h, session.id, sizes)
  await copyReceipts(h, sizes)
  await countTotals(h, sizes)
  const names = await namesIn(h)
  // Appends the two receipts and signs a checkpoint that covers the whole log.
  await appendReceipts(h.service)
  const waiting = await h.create()
  for (const table of ['bench', 'bench_tenant', 'bench_session'])
    await sql(h, `drop table ${table}`)
  await sql(h, 'analyze')
  return { ...names, waiting: waiting.id, request: refused.body.error.requestId }
}

async function receiptOf(h: Harness, { id }: { readonly id: string }): Promise<void> {
  const { status, text } = await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })
  if (status !== 200) throw new Error(`there is no receipt: ${text}`)
}

/** Runs SQL past the service. The cache of SQLite has room for a table and its indexes. */
async function sql(h: Harness, text: string): Promise<readonly Record<string, unknown>[]> {
  if (h.databaseUrl !== undefined) return runSql(h.databaseUrl, text)
  using database = new DatabaseSync(h.databaseFile)
  database.exec('pragma cache_size = -4000000; pragma synchronous = off')
  return database.prepare(text).all()
}

async function insert(
  h: Harness,
  table: string,
  count: number,
  rowOf: (n: number) => string,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const length = Math.min(BATCH, count - from)
    const rows = Array.from({ length }, (_, index) => `(${rowOf(from + index)})`)
    await sql(h, `insert into ${table} values ${rows.join()}`)
  }
}

/** Copies one row of a table for each row of others. Columns that are not named are the same. */
async function copy(
  h: Harness,
  table: string,
  of: {
    readonly where: string
    readonly from: string
    readonly columns: Readonly<Record<string, string>>
  },
): Promise<void> {
  const { where, from, columns } = of
  const [found] = await sql(h, `select * from ${table} limit 1`)
  const names = Object.keys(found ?? {}).filter((name) => name !== 'ordinal')
  const values = names.map((name) => columns[name] ?? `first.${name}`)
  await sql(
    h,
    `insert into ${table} (${names.join()})
     select ${values.join()} from (select * from ${table} where ${where}) first, ${from}`,
  )
}

const copyTenants = (h: Harness) =>
  copy(h, 'tenant', {
    where: `id = '${h.shop.tenant.id}'`,
    from: 'bench_tenant b where b.n > 0',
    columns: { id: 'b.id', name: `'Shop ' || b.n` },
  })

async function copySessions(h: Harness, id: string, sizes: Sizes): Promise<void> {
  const [key] = await sql(h, 'select sealed from session_id_key')
  const { idKeys } = keyringOf([ROOT_KEY])
  const keys = new SessionKeys(idKeys.open(String(key?.sealed)).cipher)
  const [first] = await sql(h, `select session_key from session where id = '${id}'`)
  await sql(
    h,
    'create table bench_session (n bigint primary key, earlier bigint, id text, session_key bigint)',
  )
  await insert(h, 'bench_session', sizes.sessions, (n) => {
    const earlier = Math.round((n * (DAY_MS - HOUR_MS)) / sizes.sessions) + 1
    const fresh = keys.newId(h.clock.now() - earlier, randomBytes(16))
    return `${n}, ${earlier}, '${fresh}', ${keys.of(fresh)}`
  })
  const times = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, `first.${name} - b.earlier`]))
  const owned = `bench_session b join bench_tenant t on t.n = b.n % ${sizes.tenants}`
  const where = `session_key = ${String(first?.session_key)}`
  await copy(h, 'session', {
    where,
    from: owned,
    columns: {
      id: 'b.id',
      session_key: 'b.session_key',
      tenant_id: 't.id',
      subject_ref: `'user-' || b.n`,
      receipt_due_at: 'null',
      ...times('created_at', 'expires_at', 'bonded_at', 'completed_at', 'ended_at'),
    },
  })
  await copy(h, 'session_event', {
    where,
    from: 'bench_session b order by b.session_key, first.seq',
    columns: { session_key: 'b.session_key', ...times('at') },
  })
  await copy(h, 'rejection', {
    where: `session_id = '${id}'`,
    from: owned,
    columns: {
      tenant_id: 't.id',
      session_id: 'b.id',
      subject_ref: `'user-' || b.n`,
      request_id: `'req_' || b.n`,
      at: 'first.at - 30 * b.earlier',
    },
  })
}

async function copyReceipts(h: Harness, sizes: Sizes): Promise<void> {
  const { service } = h
  const yearMs = YEAR_HOURS * HOUR_MS
  const head = await service.store.read(({ receiptLog }) => receiptLog.head())
  await copy(h, 'receipt', {
    where: 'log_index = 0',
    // In the order of the indexes, of which the pages would otherwise be read again and again.
    from: `bench b join bench_tenant t on t.n = b.n % ${sizes.tenants} order by t.id, b.n desc`,
    columns: {
      session_id: `t.id || '_' || (10000000 - b.n)`,
      tenant_id: 't.id',
      made_at: `first.made_at - b.n * ${Math.floor(yearMs / sizes.receipts)}`,
      log_index: `b.n + ${head.size - 1}`,
    },
  })
  await copy(h, 'audit_entry', {
    where: `number = (select max(number) from audit_entry)`,
    from: `bench b where b.n <= ${sizes.sessions}`,
    columns: { number: 'first.number + b.n', at: 'first.at + b.n' },
  })
  const [audit] = await sql(h, 'select max(number) as size from audit_entry')
  const { sha256Bytes } = service.keys
  for (let done = 0; done < sizes.receipts; done += LOG_BATCH) {
    const length = Math.min(LOG_BATCH, sizes.receipts - done)
    const leaves = Array.from({ length }, (_, index) =>
      sha256Bytes(Buffer.from(String(done + index))),
    )
    await service.store.write(function* ({ receiptLog }) {
      const { size: before } = yield* receiptLog.head()
      const edge = yield* readTiles(receiptLog, edgeTiles(before))
      const tree = new MerkleTree(sha256Bytes, before, edge)
      const tiles = tree.append(leaves).map((tile) => ({ ...tile, entries: null }))
      const change = { before, size: tree.size, auditSize: Number(audit?.size), tiles }
      yield* receiptLog.append({ ...change, now: h.clock.now() })
    })
  }
}

/** The totals of the sessions and of the receipts by hour, and the sums of all tenants. */
async function countTotals(h: Harness, { tenants }: Sizes): Promise<void> {
  const now = h.clock.now()
  const hour = now - (now % HOUR_MS)
  const counts = 'created, approved, completed, expired, rejections, latency_ms, latency_1'
  const others =
    'inbox, declined, reported, stopped, step_ups, browser_proofs, latency_0, latency_2, latency_3, latency_4, latency_5, latency_6, latency_7'
  const zeros = others.replaceAll(/\w+/g, '0')
  const approved = 'case when b.n % 5 = 0 then 0 else 1 end'
  for (const [table, at] of [
    ['bench_session', `${now} - b.earlier - (${now} - b.earlier) % ${HOUR_MS}`],
    ['bench', `${hour} - ${HOUR_MS} * ((b.n / ${tenants} * ${HOURS_APART} + t.n) % ${YEAR_HOURS})`],
  ] as const)
    await sql(
      h,
      `insert into session_total (tenant_id, workflow, hour, ${counts}, ${others})
       select t.id, 'credit_application', ${at}, 1, ${approved}, ${approved}, 1 - ${approved}, 1,
         8000 * ${approved}, ${approved}, ${zeros}
       from ${table} b join bench_tenant t on t.n = b.n % ${tenants} where true order by 1, 3
       on conflict do nothing`,
    )
  const sums = counts.replaceAll(/\w+/g, (name) => `sum(${name})`)
  await sql(
    h,
    `insert into session_total (tenant_id, workflow, hour, ${counts}, ${others})
     select '', '', hour, ${sums}, ${zeros} from session_total group by hour`,
  )
  await sql(h, `update session_total_head set counted_until = ${now}`)
}
