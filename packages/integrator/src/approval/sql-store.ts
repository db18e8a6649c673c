import { GateError } from '../errors.ts'
import { repeatLostUses, runUse } from '../pending/lost-use.ts'
import type { PgPool } from '../pending/postgres.ts'
import { requireOptions } from '../required.ts'
import {
  quietly,
  type SqliteConnection,
  type SqliteStatement,
  waitForOthers,
} from '../pending/sqlite.ts'
import {
  type ApprovalState,
  type ApprovalStore,
  type StoredApproval,
  UNFINISHED,
} from './approval-store.ts'

/**
 * The table, on PostgreSQL and SQLite. `sqliteApprovalStore` creates it if it does not exist; run
 * it with your own migrations on PostgreSQL. Let only the backend's role read it.
 */
export const APPROVAL_TABLE = `create table if not exists approval (
  id text primary key, data text not null, state text not null,
  changed_at bigint not null, expires_at bigint not null, lookup text);
create index if not exists approval_lookup on approval (lookup, expires_at)`

const UNFINISHED_STATES = `(${UNFINISHED.map((state) => `'${state}'`).join(', ')})`
const PUT = `insert into approval (id, data, state, changed_at, expires_at, lookup)
  values ($1, $2, $3, $4, $5, $6) on conflict do nothing`
const FIND = 'select * from approval where id = $1'
const EQUAL = 'select * from approval where lookup = $1 order by expires_at desc'
const MOVE = 'update approval set state = $3, changed_at = $4 where id = $1 and state = $2'
const LIST = `select * from approval where state in ${UNFINISHED_STATES} order by changed_at`
const REMOVE = `delete from approval where state not in ${UNFINISHED_STATES}`

type Row = Readonly<Record<string, unknown>>
type Value = string | number | null

interface Database {
  readonly read: (sql: string, values: readonly Value[]) => Promise<readonly Row[]>
  /** Commits one statement, and returns the number of rows that it changed. */
  readonly write: (sql: string, values: readonly Value[]) => Promise<number>
}

function sqlStore({ read, write }: Database): ApprovalStore {
  return {
    async put({ id, data, state, changed_at, expires_at, lookup }) {
      await write(PUT, [id, data, state, changed_at, expires_at, lookup])
    },
    find: async (id) => (await read(FIND, [id])).map(fromRow)[0],
    withLookup: async (lookup) => (await read(EQUAL, [lookup])).map(fromRow),
    move: async (id, from, to, at) => (await write(MOVE, [id, from, to, at])) === 1,
    unfinished: async () => (await read(LIST, [])).map(fromRow),
    async remove(id) {
      await write(`${REMOVE} and id = $1`, [id])
    },
    removeExpired: (before) => write(`${REMOVE} and expires_at < $1`, [before]),
  }
}

/** A `bigint` of PostgreSQL is a text. */
function fromRow({ id, data, state, changed_at, expires_at, lookup }: Row): StoredApproval {
  return {
    id: String(id),
    data: String(data),
    state: state as ApprovalState,
    changed_at: Number(changed_at),
    expires_at: Number(expires_at),
    lookup: String(lookup),
  }
}

/**
 * A store on PostgreSQL, with a pool of `pg`. Create {@link APPROVAL_TABLE} first.
 *
 * @throws {GateError} `invalid_configuration` where a commit does not wait for the disk
 */
export async function postgresApprovalStore(pool: Pick<PgPool, 'query'>): Promise<ApprovalStore> {
  requireOptions('postgresApprovalStore', { pool }, { pool: ['query'] })
  const { rows } = await pool.query('show synchronous_commit')
  if ((rows[0]?.['synchronous_commit'] ?? 'off') === 'off')
    throw refused('set synchronous_commit of the role or the database to `local` or `on`')
  return sqlStore({
    read: async (sql, values) => (await pool.query(sql, [...values])).rows,
    // Outside a transaction, each statement is one. Where your database isolates it strictly, a
    // statement that lost against another one runs again.
    write: (sql, values) =>
      repeatLostUses(async () => (await runUse(pool.query(sql, [...values]))).rowCount ?? 0),
  })
}

interface ReadingStatement extends SqliteStatement {
  all(values: Record<string, Value>): readonly unknown[]
  run(values: Record<string, Value>): { readonly changes: number | bigint }
}

/** A connection of `node:sqlite` (`DatabaseSync`) or better-sqlite3. */
export interface ApprovalConnection extends SqliteConnection {
  prepare(sql: string): ReadingStatement
}

/**
 * A store on one SQLite connection. Leave no transaction of your own open across an `await`: a
 * write of the store then throws, and nothing runs.
 *
 * @throws {GateError} `invalid_configuration` where a commit does not wait for the disk
 */
export function sqliteApprovalStore(db: ApprovalConnection): ApprovalStore {
  waitForOthers(db)
  const { synchronous } = db.prepare('pragma synchronous').get({}) as { synchronous: number }
  if (!(synchronous >= 2)) throw refused('use `pragma synchronous = full`')
  db.exec(APPROVAL_TABLE)
  const prepared = new Map<string, ReadingStatement>()
  const prepare = (sql: string) => {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
  const named = (values: readonly Value[]) =>
    Object.fromEntries(values.map((value, index) => [String(index + 1), value]))
  return sqlStore({
    read: async (sql, values) => prepare(sql).all(named(values)) as readonly Row[],
    async write(sql, values) {
      // Not possible within an open transaction, whose rollback would undo the write.
      db.exec('begin immediate')
      try {
        const { changes } = prepare(sql).run(named(values))
        db.exec('commit')
        return Number(changes)
      } catch (error) {
        quietly(() => db.exec('rollback'))
        throw error
      }
    },
  })
}

function refused(remedy: string): GateError {
  return new GateError(
    'invalid_configuration',
    `A crash could undo that an action runs, and it would run twice: ${remedy}.`,
  )
}
