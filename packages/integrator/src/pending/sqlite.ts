import { GateError } from '../errors.ts'
import { requireOptions } from '../required.ts'
import type { PendingStore, PendingUse } from './pending-store.ts'
import { COLUMNS, fromStored, type StoredRow, toStored } from './row.ts'

/** The part of a statement of `node:sqlite` or better-sqlite3 that the store uses. */
export interface SqliteStatement {
  run(values: Record<string, string | null>): { readonly changes: number | bigint }
  get(values: Record<string, string | null>): unknown
}

/** A connection of `node:sqlite` (`DatabaseSync`) or better-sqlite3. */
export interface SqliteConnection {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** The transaction of an action. It is open while the writes run, not while the action waits. */
export interface SqliteTransaction<Connection extends SqliteConnection = SqliteConnection> {
  /**
   * Runs `write` after the action, in the transaction that marks the bond as used. Drivers of
   * SQLite are synchronous, and so is `write`: it must not return a promise.
   */
  onCommit(write: (db: Connection) => void): void
}

/** The table. `sqlitePendingStore` creates it if it does not exist. */
export const SQLITE_PENDING_TABLE = `create table if not exists bond (
  session_id text primary key, workflow text not null, action text not null, owner text not null,
  completion_secret text not null, context_digest text, subject_ref text,
  created_at text not null, expires_at text not null, used_at text)`

/** Bonds whose action runs now, of all processes. The store creates this table, too. */
const CLAIMS = `create table if not exists bond_claim (
  session_id text primary key, holder text not null, claimed_until text not null)`

/** When another action can use the bond of a process that has ended without a trace. */
const CLAIM_MS = 60_000
const RENEWAL_MS = CLAIM_MS / 3
/** `node:sqlite` waits for no other process by default. Transactions of this store are short. */
const BUSY_TIMEOUT_MS = 5_000

/** The transaction of one action: the bonds that it has claimed, and what it writes. */
class OpenTransaction<Connection extends SqliteConnection> {
  readonly holder = crypto.randomUUID()
  readonly uses: PendingUse[] = []
  readonly writes: ((db: Connection) => void)[] = []

  onCommit(write: (db: Connection) => void): void {
    this.writes.push(write)
  }
}

/** Makes a connection wait for the transaction of another one. Call it before any statement. */
export function waitForOthers(db: SqliteConnection): void {
  requireOptions('the store', { db }, { db: ['exec', 'prepare'] })
  const { timeout } = db.prepare('pragma busy_timeout').get({}) as { readonly timeout: number }
  if (timeout === 0) db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
}

/** Creates the tables, and prepares the statements. */
function prepare(db: SqliteConnection) {
  waitForOthers(db)
  db.exec(SQLITE_PENDING_TABLE)
  db.exec(CLAIMS)
  return {
    insert: db.prepare(
      `insert into bond (${COLUMNS.join(', ')}) values (${COLUMNS.map((name) => `$${name}`).join(', ')})
       on conflict do nothing`,
    ),
    select: db.prepare('select * from bond where session_id = $session_id'),
    claim: db.prepare(
      `insert into bond_claim (session_id, holder, claimed_until)
       select session_id, $holder, $until from bond
       where session_id = $session_id and owner = $owner and used_at is null
       on conflict (session_id) do update set holder = excluded.holder,
         claimed_until = excluded.claimed_until where bond_claim.claimed_until < $now`,
    ),
    renew: db.prepare('update bond_claim set claimed_until = $until where holder = $holder'),
    release: db.prepare('delete from bond_claim where holder = $holder'),
    unclaim: db.prepare(
      'delete from bond_claim where session_id = $session_id and holder = $holder',
    ),
    update: db.prepare(
      `update bond set used_at = $used_at
       where session_id = $session_id and owner = $owner and used_at is null`,
    ),
    remove: db.prepare('delete from bond where expires_at < $before'),
    removeClaims: db.prepare('delete from bond_claim where claimed_until < $before'),
  }
}

/**
 * A pending store on one SQLite connection. SQLite has one writer at a time, so no transaction is
 * open while an action waits: a use claims the bond, and the action, the use, and the end of the
 * claim are committed at once. `accept` receives the {@link SqliteTransaction}. Leave no
 * transaction of your own open on the connection across an `await`.
 *
 * @example const store = sqlitePendingStore(new DatabaseSync('bank.db'))
 */
export function sqlitePendingStore<Connection extends SqliteConnection>(
  db: Connection,
): PendingStore<SqliteTransaction<Connection>> {
  const statements = prepare(db)
  const { insert, select, claim, renew, release, remove, removeClaims } = statements

  return {
    put: async (row) => void insert.run({ ...toStored(row) }),
    find: async (session_id) => {
      const row = select.get({ session_id }) as StoredRow | undefined
      return row && fromStored(row)
    },
    async transaction(work) {
      const tx = new OpenTransaction<Connection>()
      const { holder, uses, writes } = tx
      const renewal = setInterval(
        () => quietly(() => uses.length > 0 && renew.run({ holder, until: timeIn(CLAIM_MS) })),
        RENEWAL_MS,
      )
      try {
        const result = await work(tx)
        if (uses.length + writes.length > 0) commit(db, statements, tx)
        return result
      } catch (error) {
        // A claim that cannot be released ends by itself.
        quietly(() => release.run({ holder }))
        throw error
      } finally {
        clearInterval(renewal)
      }
    },
    async use({ session_id, owner, used_at }, tx) {
      const { holder, uses } = tx as OpenTransaction<Connection>
      const times = { now: timeIn(0), until: timeIn(CLAIM_MS) }
      const isClaimed = changes(claim.run({ session_id, owner, holder, ...times })) === 1
      if (isClaimed) uses.push({ session_id, owner, used_at })
      return isClaimed
    },
    async removeExpired(before) {
      removeClaims.run({ before })
      return changes(remove.run({ before }))
    },
  }
}

/** Ends the claims, marks the bonds as used, and runs the writes: all of it, or nothing. */
function commit<Connection extends SqliteConnection>(
  db: Connection,
  { unclaim, update }: ReturnType<typeof prepare>,
  { holder, uses, writes }: OpenTransaction<Connection>,
): void {
  db.exec('begin immediate')
  try {
    for (const { session_id, owner, used_at } of uses)
      if (
        changes(unclaim.run({ session_id, holder })) !== 1 ||
        changes(update.run({ session_id, owner, used_at })) !== 1
      )
        throw notCommitted('another action has used the bond since: this one stood still')
    for (const write of writes)
      if (isPromise(write(db))) throw notCommitted('a function of `onCommit` returned a promise')
    db.exec('commit')
  } catch (error) {
    // SQLite ends the transaction itself after some errors, such as a full disk.
    quietly(() => db.exec('rollback'))
    throw error
  }
}

function changes(result: { readonly changes: number | bigint }): number {
  return Number(result.changes)
}

/** The time of this machine, which all processes of a SQLite database share. */
function timeIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString()
}

function isPromise(value: unknown): boolean {
  return value instanceof Promise
}

export function quietly(work: () => unknown): void {
  try {
    work()
  } catch {}
}

function notCommitted(reason: string): GateError {
  return new GateError('action_not_committed', `SQLite rolled the transaction back: ${reason}.`)
}
