import type { Logger } from 'pino'
import type { Batch } from '@bonded/core/operations/maintenance/batch'
import { watchCredentials } from '@bonded/core/operations/session/watch-credentials'
import { cosignCheckpoint } from '@bonded/core/operations/receipt/cosign-checkpoint'
import { expireSessions } from '@bonded/core/operations/maintenance/expire-sessions'
import { measureLevel } from '@bonded/core/operations/maintenance/node-levels'
import { makeReceipts } from '@bonded/core/operations/receipt/make-receipts'
import { purgeLogs, purgeSessions } from '@bonded/core/operations/maintenance/purge-sessions'
import { shareLimits } from '@bonded/core/operations/maintenance/share-limits'
import { appendReceipts } from '@bonded/core/operations/receipt/receipt-log'
import { repairWebhookTimes } from '@bonded/core/operations/webhook/send-webhooks'
import type { Service } from '@bonded/core/operations/service'
import { publishExternalChanges } from '@bonded/core/operations/maintenance/publish-external-changes'
import type { BackgroundWork } from '@bonded/core/ports/meter'
import type { ClockGuard } from './clock-guard.ts'
import { countFailure } from './count-failure.ts'

/**
 * The pause between two batches of a backlog. Requests have nearly all of the thread meanwhile, and
 * the backlog still shrinks by 2,500 sessions a second.
 */
const BATCH_PAUSE_MS = 20
/** The least pause after a round that was not needed, so that idle nodes cost a database little. */
const QUIET_MS = 1_000
const DAY_MS = 24 * 60 * 60_000

/** A kind of maintenance and its schedule. */
interface Task {
  readonly work: BackgroundWork
  /** The pause from the end of one round to the beginning of the next. */
  readonly everyMs: number
  /** What deletes, or takes times for wrong, waits while the clock itself may be wrong. */
  readonly needsRightTime?: true
  readonly batch: (service: Service, log: Logger) => Promise<Batch>
}

const TASKS: readonly Task[] = [
  // Watched sessions expire on their own timers. This expires the others.
  { work: 'expire', everyMs: 1_000, batch: expireSessions },
  // Watchers learn of changes by the command line within a second. A check costs a few µs.
  { work: 'publish_external', everyMs: 250, batch: publishExternalChanges },
  { work: 'purge', everyMs: 60_000, needsRightTime: true, batch: purgeSessions },
  // What has a retention of years, so that an idle node asks once an hour.
  { work: 'purge', everyMs: 60 * 60_000, needsRightTime: true, batch: purgeLogs },
  { work: 'repair_times', everyMs: 60_000, needsRightTime: true, batch: repairWebhookTimes },
  // With RECEIPT_DELAY_MS, how long after a bond its receipt is made.
  { work: 'receipts', everyMs: 1_000, batch: makeAndAppendReceipts },
  // A task of its own: a witness that is slow delays no receipt.
  { work: 'witnesses', everyMs: 1_000, batch: cosignCheckpoint },
  // A last use is written at most once in this time. It is the delay that operators read about.
  { work: 'credentials', everyMs: 60_000, batch: expiryWarnings() },
  { work: 'node_level', everyMs: 10_000, batch: logOutdated },
  // Between two of them, a node does not know what the others have granted.
  { work: 'share_limits', everyMs: 250, batch: shareLimits },
]

/** Stores last uses, and warns once a day of each credential that expires soon, or just has. */
function expiryWarnings(): Task['batch'] {
  const warnedAt = new WeakMap<Service, Map<string, number>>()
  return async (service, log) => {
    const { expiring, ...batch } = await watchCredentials(service)
    const now = service.clock.now()
    const earlier = warnedAt.get(service) ?? new Map<string, number>()
    const current = expiring.map(({ key, tenantId, name, expiresAt }) => {
      const last = earlier.get(key)
      if (last !== undefined && now - last < DAY_MS) return [key, last] as const
      const at = expiresAt ?? now
      const expires_at = new Date(at).toISOString()
      const credential = { key_id: key, tenant_id: tenantId, name, expires_at }
      if (at > now) log.warn(credential, 'a server credential expires soon')
      else log.warn(credential, 'a server credential has expired')
      return [key, now] as const
    })
    warnedAt.set(service, new Map(current))
    return batch
  }
}

/** Names this node as `bonded doctor` does. */
async function logOutdated(service: Service, log: Logger): Promise<Batch> {
  if (await measureLevel(service))
    log.error(
      { node: service.store.messages?.node },
      'this node ignores a feature that is in use, because its version is older: upgrade it',
    )
  return { done: 0, more: false }
}

/** Makes the receipts that are due, and appends them to the log. */
async function makeAndAppendReceipts(service: Service): Promise<Batch> {
  const made = await makeReceipts(service)
  // What was signed goes to the log, also while the signer fails for others.
  const appended = await appendReceipts(service)
  return { ...made, more: made.more || appended.more }
}

/**
 * Runs scheduled maintenance in bounded batches, one per turn of the event loop.
 *
 * @returns a function that stops it between two batches. The next start continues the rest
 */
export function startMaintenance(
  service: Service,
  { log, guard }: { readonly log: Logger; readonly guard: ClockGuard },
): () => void {
  const shares = service.peers.exchange !== undefined
  const signs = service.receiptSigner !== undefined
  const hasWitnesses = signs && (service.witnesses ?? []).length > 0
  const tasks = TASKS.filter(
    ({ work }) =>
      ((work !== 'share_limits' && work !== 'node_level') || shares) &&
      (work !== 'receipts' || signs) &&
      (work !== 'witnesses' || hasWitnesses),
  )
  const stops = tasks.map((task) => repeat(service, task, { log, guard }))
  return () => {
    for (const stop of stops) stop()
  }
}

function repeat(
  service: Service,
  { work, everyMs, needsRightTime, batch }: Task,
  { log, guard }: { readonly log: Logger; readonly guard: ClockGuard },
): () => void {
  const { clock, meter } = service
  let stopped = false
  let cancel = () => {}
  /** The current round. A backlog is one line in the log, not one per batch. */
  let round = { sessions: 0, batches: 0 }
  const logRound = () => {
    if (round.sessions > 0) log.info({ work, ...round }, 'background')
    round = { sessions: 0, batches: 0 }
  }
  const scheduleIn = (ms: number) => {
    if (!stopped) cancel = clock.schedule(clock.now() + ms, run)
  }
  const fail = (failures: readonly unknown[]) => {
    for (const failure of failures) countFailure(meter, work, failure)
    log.error({ err: failures[0], work, failures: failures.length }, 'background work failed')
  }
  const run = () => {
    if (needsRightTime && !guard.mayDelete()) return scheduleIn(everyMs)
    batch(service, log).then(
      ({ done, more, quiet = false, failures = [] }) => {
        meter.worked(work, done)
        if (failures.length > 0) fail(failures)
        round = { sessions: round.sessions + done, batches: round.batches + 1 }
        if (!more || stopped) logRound()
        const pauseMs = quiet ? Math.max(QUIET_MS, everyMs) : everyMs
        scheduleIn(more ? BATCH_PAUSE_MS : pauseMs)
      },
      (failure: unknown) => {
        fail([failure])
        scheduleIn(everyMs)
      },
    )
  }
  scheduleIn(everyMs)
  return () => {
    stopped = true
    cancel()
    logRound()
  }
}
