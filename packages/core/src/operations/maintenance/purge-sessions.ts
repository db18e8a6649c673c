import { contentHash } from '../../domain/audit.ts'
import {
  IDEMPOTENCY_KEY_TTL_MS,
  REJECTION_RETENTION_MS,
  RETENTION_AFTER_END_MS,
} from '../../domain/lifetimes.ts'
import { LOG_RETENTION_MS } from '../../domain/receipt-log.ts'
import { RECEIPT_RETENTION_MS } from '../../domain/receipts.ts'
import { type Due, RETENTION_BOUNDS, type RetentionKind } from '../../domain/retention.ts'
import type { Instant } from '../../domain/session.ts'
import { TOTALS_DELAY_MS, TOTALS_RETENTION_MS } from '../../domain/totals.ts'
import { LOG_MS } from '../../domain/webhooks.ts'
import { type Batch, BATCH_SESSIONS } from './batch.ts'
import type { Service } from '../service.ts'

/** A used challenge or an Idempotency-Key is one small row; a session has a dozen. */
const BATCH_SMALL_ROWS = 200
/** Sessions that one unit counts. They take some milliseconds. */
const BATCH_COUNTED = 2_000
const DAY_MS = 24 * 60 * 60_000
/** Up to which user this process has checked the counts of inboxes. */
const checkedUpTo = new WeakMap<Service, string>()

/**
 * Deletes Idempotency-Keys whose sessions are no longer readable, expired registration challenges,
 * and, at the end of their retention, ended sessions with their events and failure counts,
 * deliveries, receipts, and reasons of rejections, and counts of requests that have no effect. A
 * receipt that the log does not have stays. The store alone has the remaining work, so a process
 * that stops midway loses nothing.
 *
 * Sessions are counted in the totals first. None is deleted while others wait for that.
 */
export async function purgeSessions(service: Service): Promise<Batch> {
  const {
    receiptRetentionMs = RECEIPT_RETENTION_MS,
    rejectionRetentionMs = REJECTION_RETENTION_MS,
  } = service.settings
  const now = service.clock.now()
  const due = dueAt(service, now)
  const batch = await service.store.write(function* (tables) {
    const small = [
      yield* tables.devices.purgeChallenges(now, BATCH_SMALL_ROWS),
      yield* tables.idempotency.purge(now - IDEMPOTENCY_KEY_TTL_MS, BATCH_SMALL_ROWS),
      yield* tables.purge('deliveries', due('deliveries', LOG_MS)),
      yield* tables.purge('receipts', due('receipts', receiptRetentionMs)),
      yield* tables.purge('reasons', due('reasons', rejectionRetentionMs)),
    ]
    if (yield* tables.totals.count(now - TOTALS_DELAY_MS, BATCH_COUNTED))
      return { done: 0, more: true }
    const ended = { ...due('sessions', RETENTION_AFTER_END_MS), limit: BATCH_SESSIONS }
    const { length: done } = yield* tables.sessions.purge(ended)
    return { done, more: done === BATCH_SESSIONS || small.includes(BATCH_SMALL_ROWS) }
  })
  if (batch.more) return batch
  // Last, and in a transaction of its own, so that a backlog of sessions does not wait for it.
  const from = checkedUpTo.get(service) ?? ''
  const to = await service.store.write((tables) => tables.sessions.purgeCallers(from, now))
  checkedUpTo.set(service, to)
  return batch
}

/**
 * Deletes totals, and entries of the log of receipts and of the audit log, at the end of their
 * retention. An audit entry loses its content, so that the entries around it stay verifiable.
 */
export async function purgeLogs(service: Service): Promise<Batch> {
  const { logRetentionMs = LOG_RETENTION_MS } = service.settings
  const due = dueAt(service, service.clock.now())('audit')
  return service.store.write(function* ({ audit, receiptLog, totals }) {
    const hours = yield* totals.purge(due.now - TOTALS_RETENTION_MS, BATCH_SMALL_ROWS)
    const leaves = yield* receiptLog.prune(due.now - logRetentionMs, BATCH_SMALL_ROWS)
    const entries = yield* audit.due(due)
    for (const entry of entries)
      yield* audit.empty(entry, contentHash(service.keys.sha256Bytes, entry))
    if (entries.length > 0) yield* audit.dropEmpty()
    const isFull = [leaves, hours, entries.length].some((count) => count >= BATCH_SMALL_ROWS)
    return { done: 0, more: isFull }
  })
}

/** The period of a tenant without one is the given one, or else the longest of the bounds. */
function dueAt({ settings }: Service, now: Instant) {
  const { retentionBounds = RETENTION_BOUNDS } = settings
  return (kind: RetentionKind, usualMs?: number): Due => {
    const { min, max } = retentionBounds[kind]
    const limit = BATCH_SMALL_ROWS
    return { min, max, now, usualMs: usualMs ?? max * DAY_MS, limit }
  }
}
