import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'

/** A request that expired before it was used. */
export interface ExpiredRequest {
  readonly key: string
  readonly payload: AdapterPayload
}

/** What is sent when the user has answered a request. */
export interface Notice {
  /** The id of the approval. */
  readonly approval: string
  /** What the receiver needs. It contains a secret, so the row is removed once it is sent. */
  readonly content: Readonly<Record<string, string>>
  /** How long to wait after a further failure. */
  readonly pauseS: number
}

const REQUEST = 'BackchannelAuthenticationRequest'
const REPLAY = 'ReplayDetection'
const ANSWER = 'Answer'
const NOTICE = 'Notice'
/** A failed notice is sent again after this time, and then after twice the time. */
const [FIRST_PAUSE_S, LONGEST_PAUSE_S] = [10, 600]
/** Longer than a request waits: a process that stood still must find that it may not answer. */
const ANSWER_KEPT_S = 2 * 86_400
const TABLE = `create table if not exists oidc (
  kind text not null, key text not null, payload text not null, expires_at integer not null,
  used_at integer, primary key (kind, key)) strict, without rowid;
  create index if not exists oidc_expires_at on oidc (expires_at);
  create index if not exists oidc_approval on oidc (payload ->> '$.params.approval')
    where kind = '${REQUEST}'`

/**
 * The rows of the OpenID provider in SQLite. Each write is one statement, durable when it returns.
 * An id is the credential of its row, so the table has its hash.
 */
export class SqliteRows {
  readonly #db: DatabaseSync
  readonly #now: () => number

  /** @param now in seconds since the epoch */
  constructor(db: DatabaseSync, now: () => number) {
    db.exec(TABLE)
    this.#db = db
    this.#now = now
  }

  /** The adapter of one kind of row. */
  adapter(kind: string): Adapter {
    const missing = async () => undefined
    return {
      upsert: async (id, payload, seconds = 0) => this.#put(kind, { id, payload, seconds }),
      find: async (id) => {
        const sql = 'select payload, used_at from oidc where kind = ? and key = ?'
        const row = this.#db.prepare(sql).get(kind, hash(id))
        if (row === undefined) return undefined
        const used = row['used_at'] === null ? {} : { consumed: Number(row['used_at']) }
        return { ...(JSON.parse(String(row['payload'])) as AdapterPayload), ...used, jti: id }
      },
      consume: async (id) => {
        if (!this.use(kind, hash(id))) throw new errors.InvalidGrant('already consumed')
      },
      destroy: async (id) =>
        void this.#db.prepare('delete from oidc where kind = ? and key = ?').run(kind, hash(id)),
      // A used request stays, so that the client gets its answer again.
      revokeByGrantId: async (grantId) =>
        void this.#db
          .prepare(
            `delete from oidc
            where kind = ? and payload ->> 'grantId' = ? and kind <> '${REQUEST}'`,
          )
          .run(kind, grantId),
      findByUid: missing,
      findByUserCode: missing,
    }
  }

  /**
   * Enters the only answer of an approval, unless it has one, and returns the one that it has. An
   * empty one means that the approval never gets any other.
   */
  enterAnswer(approval: string, answer: string): string {
    const sql = `insert into oidc (kind, key, payload, expires_at)
      values ('${ANSWER}', ?, json_object('answer', ?), ?) on conflict do nothing`
    this.#db.prepare(sql).run(approval, answer, this.#now() + ANSWER_KEPT_S)
    return this.answerOf(approval) ?? answer
  }

  answerOf(approval: string): string | undefined {
    const sql = `select payload ->> 'answer' as answer from oidc
      where kind = '${ANSWER}' and key = ?`
    const answer = this.#db.prepare(sql).get(approval)?.['answer']
    return answer === undefined ? undefined : String(answer)
  }

  /** Stores that an id was seen, until it expires. True once. */
  seeOnce(id: string, expiresAt: number): boolean {
    const sql = `insert into oidc (kind, key, payload, expires_at) values ('${REPLAY}', ?, '{}', ?)
      on conflict do nothing`
    return this.#db.prepare(sql).run(hash(id), expiresAt).changes === 1
  }

  /** Stores what to send about an approval, in place of what a killed process has stored. */
  enterNotice(approval: string, content: Notice['content'], seconds: number): void {
    const sql = `insert into oidc (kind, key, payload, expires_at) values ('${NOTICE}', ?, ?, ?)
      on conflict do update set payload = excluded.payload, expires_at = excluded.expires_at`
    const payload = JSON.stringify({ content, due: 0, pause: FIRST_PAUSE_S })
    this.#db.prepare(sql).run(approval, payload, this.#now() + seconds)
  }

  /** The notices that may be sent now, once their users have answered. */
  dueNotices(): readonly Notice[] {
    const sql = `select key, payload ->> '$.content' as content, payload ->> '$.pause' as pause
      from oidc where kind = '${NOTICE}' and payload ->> '$.due' <= ?`
    return this.#db
      .prepare(sql)
      .all(this.#now())
      .map(({ key, content, pause }) => ({
        approval: String(key),
        content: JSON.parse(String(content)) as Notice['content'],
        pauseS: Number(pause),
      }))
  }

  postponeNotice({ approval, pauseS }: Notice): void {
    const sql = `update oidc set payload = json_set(payload, '$.due', ?, '$.pause', ?)
      where kind = '${NOTICE}' and key = ?`
    const pause = Math.min(2 * pauseS, LONGEST_PAUSE_S)
    this.#db.prepare(sql).run(this.#now() + pauseS, pause, approval)
  }

  removeNotice(approval: string): void {
    this.#db.prepare(`delete from oidc where kind = '${NOTICE}' and key = ?`).run(approval)
  }

  /** Whether a client has the id of a request with this approval, or is about to get it. */
  hasRequest(approval: string): boolean {
    const sql = `select 1 from oidc
      where kind = '${REQUEST}' and payload ->> '$.params.approval' = ?`
    return this.#db.prepare(sql).get(approval) !== undefined
  }

  /** Requests that expired before this time, in seconds, and were not used. */
  expiredRequests(before: number): readonly ExpiredRequest[] {
    const sql = `select key, payload from oidc
      where expires_at < ? and kind = '${REQUEST}' and used_at is null`
    return this.#db
      .prepare(sql)
      .all(before)
      .map(({ key, payload }) => ({
        key: String(key),
        payload: JSON.parse(String(payload)) as AdapterPayload,
      }))
  }

  /** Marks a request as used. True once. */
  use(kind: string, key: string): boolean {
    const sql = 'update oidc set used_at = ? where kind = ? and key = ? and used_at is null'
    return this.#db.prepare(sql).run(this.#now(), kind, key).changes === 1
  }

  /** Ends a request that has expired: it is listed no more. */
  end({ key }: ExpiredRequest): void {
    this.use(REQUEST, key)
  }

  removeExpired(before: number): void {
    this.#db.prepare('delete from oidc where expires_at < ?').run(before)
  }

  #put(kind: string, row: { id: string; payload: AdapterPayload; seconds: number }): void {
    const { jti: _id, ...payload } = row.payload
    const values = [JSON.stringify(payload), this.#now() + row.seconds]
    // The library reads before it writes: of two that replay an assertion, the second must not win.
    const conflict =
      kind === REPLAY
        ? 'do nothing'
        : '(kind, key) do update set payload = excluded.payload, expires_at = excluded.expires_at'
    const sql = `insert into oidc (kind, key, payload, expires_at) values (?, ?, ?, ?)
      on conflict ${conflict}`
    const { changes } = this.#db.prepare(sql).run(kind, hash(row.id), ...values)
    if (changes !== 1) throw new errors.InvalidRequest('an assertion was replayed')
  }
}

function hash(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
