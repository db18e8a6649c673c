import {
  IDEMPOTENCY_KEY_TTL_MS,
  REJECTION_RETENTION_MS,
  RETENTION_AFTER_END_MS,
} from '../domain/lifetimes.ts'
import { LOG_RETENTION_MS } from '../domain/receipt-log.ts'
import { RECEIPT_RETENTION_MS } from '../domain/receipts.ts'
import { LOG_MS } from '../domain/webhooks.ts'
import { type Batch, BATCH_SESSIONS } from './batch.ts'
import type { Service } from './service.ts'

/** A used challenge or an Idempotency-Key is one small row; a session has a dozen. */
const BATCH_SMALL_ROWS = 200

/**
 * Deletes sessions that ended 24 hours ago, with their events and failure counts, Idempotency-Keys
 * whose sessions are no longer readable, expired registration challenges, deliveries of 30 days
 * ago, and, at the end of their retention, reasons of rejections, receipts, and entries of their
 * log. A receipt that the log does not have stays. The store alone has the remaining work, so a
 * process that stops midway loses nothing.
 */
export async function purgeSessions(service: Service): Promise<Batch> {
  const now = service.clock.now()
  return service.store.write(function* ({ devices, idempotency, sessions, webhooks, ...tables }) {
    const challenges = yield* devices.purgeChallenges(now, BATCH_SMALL_ROWS)
    const keys = yield* idempotency.purge(now - IDEMPOTENCY_KEY_TTL_MS, BATCH_SMALL_ROWS)
    const { length: done } = yield* sessions.purge(now - RETENTION_AFTER_END_MS, BATCH_SESSIONS)
    const deliveries = yield* webhooks.purge(now - LOG_MS, BATCH_SMALL_ROWS)
    const { receiptRetentionMs = RECEIPT_RETENTION_MS, logRetentionMs = LOG_RETENTION_MS } =
      service.settings
    const old = yield* tables.receipts.purge(now - receiptRetentionMs, BATCH_SMALL_ROWS)
    const { rejectionRetentionMs = REJECTION_RETENTION_MS } = service.settings
    const rejected = yield* tables.rejections.purge(now - rejectionRetentionMs, BATCH_SMALL_ROWS)
    yield* tables.receiptLog.prune(now - logRetentionMs, BATCH_SMALL_ROWS)
    const isFull = [challenges, keys, deliveries, old, rejected].includes(BATCH_SMALL_ROWS)
    const more = done === BATCH_SESSIONS || isFull
    return { done, more }
  })
}
