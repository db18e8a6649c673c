import type { SessionId } from '@bonded/contract'
import type { IdempotencyTable } from '../../ports/store.ts'
import { changed, row } from './statement.ts'

/** Maps each Idempotency-Key to the session that it created and to a MAC of the request body. */
export const idempotencyTable: IdempotencyTable = {
  *take({ tenantId, key, bodyMac, rootKeyId, session }) {
    const taken = yield* row(
      `insert into idempotency (tenant_id, idempotency_key, body_mac, root_key_id, session_id, session_began_at)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (tenant_id, idempotency_key) do nothing returning session_id`,
      [tenantId, key, bodyMac, rootKeyId, session.id, session.createdAt],
    )
    return taken !== undefined
  },

  *find(tenantId, key) {
    const found = yield* row(
      'select * from idempotency where tenant_id = $1 and idempotency_key = $2',
      [tenantId, key],
    )
    return (
      found && {
        bodyMac: found.body_mac as string,
        rootKeyId: found.root_key_id as string,
        sessionId: found.session_id as SessionId,
      }
    )
  },

  *release(tenantId, key, sessionId) {
    yield* row(
      'delete from idempotency where tenant_id = $1 and idempotency_key = $2 and session_id = $3',
      [tenantId, key, sessionId],
    )
  },

  *purge(createdBy, limit) {
    return yield* changed(
      `delete from idempotency where (session_began_at, session_id) in (
         select session_began_at, session_id from idempotency where session_began_at <= $1
         order by session_began_at limit $2)`,
      [createdBy, limit],
    )
  },
}
