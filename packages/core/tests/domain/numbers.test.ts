import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONNECTION_LIMITS } from '../../src/domain/connection-limits.ts'
import * as inbox from '../../src/domain/inbox.ts'
import * as lifetimes from '../../src/domain/lifetimes.ts'
import * as logo from '../../src/domain/logo.ts'
import * as motion from '../../src/domain/motion-memory.ts'
import * as log from '../../src/domain/receipt-log.ts'
import { RETENTION_BOUNDS, RETENTION_KINDS } from '../../src/domain/retention.ts'
import * as totals from '../../src/domain/totals.ts'
import * as webhooks from '../../src/domain/webhooks.ts'
import { BATCH_SESSIONS } from '../../src/operations/maintenance/batch.ts'
import { LONGEST_WAIT_MS } from '../../src/operations/session/await-change.ts'
import { EXPIRY_WARNING_MS } from '../../src/operations/session/watch-credentials.ts'
import { TENANT_NAMES_TTL_MS } from '../../src/operations/tenant/tenant-names.ts'

/*
 * Numbers that tests and rules import, so that no test would notice another value or another unit.
 * Those of the protocol are compared with its page in `tests/protocol.test.ts`.
 */
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

test('what is stored, and what is tried again, has its documented time', () => {
  const found = {
    idempotencyKey: lifetimes.IDEMPOTENCY_KEY_TTL_MS,
    clockDifference: lifetimes.MAX_CLOCK_DIFFERENCE_MS,
    rejectionDays: lifetimes.REJECTION_RETENTION_DAYS,
    inboxHistory: inbox.INBOX_HISTORY_MS,
    inboxEnded: inbox.INBOX_ENDED_MS,
    inboxWaits: inbox.INBOX_WAITS_MS,
    wakeUps: inbox.WAKE_UPS_WITHIN_MS,
    wakeUpKept: inbox.WAKE_UP_TTL_MS,
    cosignRound: log.COSIGN_ROUND_MS,
    cosignRefresh: log.COSIGN_REFRESH_MS,
    logDays: log.LOG_RETENTION_DAYS,
    totals: totals.TOTALS_RETENTION_MS,
    totalsDelay: totals.TOTALS_DELAY_MS,
    hour: totals.HOUR_MS,
    day: totals.DAY_MS,
    retryAfter: webhooks.MAX_RETRY_AFTER_MS,
    attempt: webhooks.ATTEMPT_TIMEOUT_MS,
    claim: webhooks.CLAIM_MS,
    lease: webhooks.LEASE_MS,
    deliveries: webhooks.LOG_MS,
    longPoll: LONGEST_WAIT_MS,
    expiryWarning: EXPIRY_WARNING_MS,
    tenantNames: TENANT_NAMES_TTL_MS,
  }
  assert.deepEqual(found, {
    idempotencyKey: 150 * MINUTE,
    clockDifference: SECOND,
    rejectionDays: 30,
    inboxHistory: 48 * HOUR,
    inboxEnded: 24 * HOUR,
    inboxWaits: 72 * HOUR,
    wakeUps: HOUR,
    wakeUpKept: 10 * MINUTE,
    cosignRound: 10 * SECOND,
    cosignRefresh: HOUR,
    logDays: 3_650,
    totals: 400 * DAY,
    totalsDelay: MINUTE,
    hour: HOUR,
    day: DAY,
    retryAfter: DAY,
    attempt: 15 * SECOND,
    claim: MINUTE,
    lease: 20 * SECOND,
    deliveries: 30 * DAY,
    longPoll: 25 * SECOND,
    expiryWarning: 14 * DAY,
    tenantNames: MINUTE,
  })
})

test('what is counted has its documented limit', () => {
  const found = {
    logoBytes: logo.MAX_LOGO_BYTES,
    logoPixels: logo.MAX_LOGO_PIXELS,
    motionWindows: motion.MAX_STORED_WINDOWS,
    fingerprintSeconds: motion.SECONDS_PER_FINGERPRINT,
    fingerprintStep: motion.FINGERPRINT_STEP,
    repeatedFingerprints: motion.MIN_REPEATED_FINGERPRINTS,
    repeatedShare: motion.REPETITION_THRESHOLD,
    breaker: webhooks.BREAKER_FAILURES,
    attempts: webhooks.MAX_ATTEMPTS,
    endpoints: webhooks.MAX_ENDPOINTS,
    logBatch: log.LOG_BATCH,
    sessionBatch: BATCH_SESSIONS,
  }
  assert.deepEqual(found, {
    logoBytes: 32_768,
    logoPixels: 1_024,
    motionWindows: 8,
    fingerprintSeconds: 3,
    fingerprintStep: 0.3,
    repeatedFingerprints: 2,
    repeatedShare: 0.2,
    breaker: 5,
    attempts: 1_024,
    endpoints: 10,
    logBatch: 500,
    sessionBatch: 50,
  })
})

test('an attempt of a webhook follows the one before after the time that the guide names', () => {
  assert.deepEqual(webhooks.ATTEMPT_DELAYS_MS, [
    0,
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ])
})

test('each kind of row has its own shortest and longest period', () => {
  assert.deepEqual(RETENTION_KINDS, ['sessions', 'reasons', 'deliveries', 'receipts', 'audit'])
  assert.deepEqual(RETENTION_BOUNDS, {
    sessions: { min: 1, max: 30 },
    reasons: { min: 1, max: 365 },
    deliveries: { min: 1, max: 365 },
    receipts: { min: 1, max: 3_650 },
    audit: { min: 365, max: 3_650 },
  })
})

test('each limit of connections has its own largest value', () => {
  const found = Object.entries(CONNECTION_LIMITS).map(([name, { max }]) => [name, max])
  assert.deepEqual(Object.fromEntries(found), {
    total: 1_000_000,
    reserve: 1_000_000,
    network: 1_000_000,
    session: 1_000,
    idle_seconds: 600,
    backend_idle_seconds: 4_010,
    proxy_idle_seconds: 4_010,
  })
})
