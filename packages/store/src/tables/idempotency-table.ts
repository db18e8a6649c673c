import type { SessionId } from '@bonded/contract'
import { idempotencyTime } from '@bonded/core/domain/lifetimes'
import type { IdempotencyTable } from '@bonded/core/ports/tables/idempotency-table'
import type { Dialect } from '../dialect.ts'
import { idempotencyHash } from './idempotency-hash.ts'
import { changedOnce, row, rows, sent } from '../statement.ts'

/**
 * Maps each Idempotency-Key to the session that it created and to a MAC of the request body. The
 * rows are in the order of their sessions, and only a short index is in the order of the random
 * keys, so that few pages change.
 */
export function idempotencyTable(dialect: Dialect): IdempotencyTable {
  return {
    *take({ tenantId, key, bodyMac, rootKeyId, session }) {
      const taken = yield* changedOnce(
        `insert into idempotency (key_hash, body_mac, root_key_id, session_id, session_began_at)
         values ($1, $2, $3, $4, $5) on conflict (key_hash) do nothing`,
        [idempotencyHash(tenantId, key), bodyMac, rootKeyId, session.id, idempotencyTime(session)],
      )
      return taken === 1
    },

    *find(tenantId, key) {
      const found = yield* row('select * from idempotency where key_hash = $1', [
        idempotencyHash(tenantId, key),
      ])
      return (
        found && {
          bodyMac: found.body_mac as string,
          rootKeyId: found.root_key_id as string,
          sessionId: found.session_id as SessionId,
        }
      )
    },

    *release(tenantId, key, sessionId) {
      yield* row('delete from idempotency where key_hash = $1 and session_id = $2', [
        idempotencyHash(tenantId, key),
        sessionId,
      ])
    },

    *purge(createdBy, limit) {
      const doomed = yield* rows(
        `select session_began_at, key_hash from idempotency where session_began_at between 0 and $1
         order by session_began_at limit $2 ${dialect.forWork}`,
        [createdBy, limit],
      )
      // One at a time, as for sessions.
      for (const { session_began_at, key_hash } of doomed)
        yield* sent('delete from idempotency where session_began_at = $1 and key_hash = $2', [
          Number(session_began_at),
          key_hash as Uint8Array,
        ])
      return doomed.length
    },
  }
}
