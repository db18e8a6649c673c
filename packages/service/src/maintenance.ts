import type { Logger } from 'pino'
import type { Batch } from './operations/batch.ts'
import { expireSessions } from './operations/expire-sessions.ts'
import { purgeSessions } from './operations/purge-sessions.ts'
import type { Service } from './operations/service.ts'
import { publishExternalChanges } from './operations/publish-external-changes.ts'
import type { BackgroundWork } from './ports/meter.ts'

/** Between two batches of a backlog: the requests that arrived have nearly all of the thread, and the backlog gets 2,500 sessions a second. */
const REST_MS = 20

interface Chore {
  readonly work: BackgroundWork
  /** From the end of one round to the beginning of the next. */
  readonly everyMs: number
  readonly batch: (service: Service) => Promise<Batch>
}

const CHORES: readonly Chore[] = [
  // Watched sessions expire on their own timers; this expires the others.
  { work: 'expire', everyMs: 1_000, batch: expireSessions },
  // Watchers learn of changes by the command line within a second. A check costs a few microseconds.
  { work: 'tell_foreign', everyMs: 250, batch: publishExternalChanges },
  { work: 'forget', everyMs: 60_000, batch: purgeSessions },
]

/**
 * Runs scheduled maintenance in bounded batches, one per turn of the event loop. @returns a function that stops it,
 * between two batches; what was left is done after the next start
 */
export function startMaintenance(service: Service, log: Logger): () => void {
  const stops = CHORES.map((chore) => repeat(service, chore, log))
  return () => {
    for (const stop of stops) stop()
  }
}

function repeat(service: Service, { work, everyMs, batch }: Chore, log: Logger): () => void {
  const { clock, meter } = service
  let stopped = false
  let cancel = () => {}
  /** Of the round so far: a backlog is one line in the log, not one a batch. */
  let round = { sessions: 0, batches: 0 }
  const tell = () => {
    if (round.sessions > 0) log.info({ work, ...round }, 'background')
    round = { sessions: 0, batches: 0 }
  }
  const scheduleIn = (ms: number) => {
    if (!stopped) cancel = clock.schedule(clock.now() + ms, run)
  }
  const run = () => {
    batch(service).then(
      ({ done, more }) => {
        meter.worked(work, done)
        round = { sessions: round.sessions + done, batches: round.batches + 1 }
        if (!more || stopped) tell()
        scheduleIn(more ? REST_MS : everyMs)
      },
      (failure: unknown) => {
        log.error({ err: failure, work }, 'background work failed')
        scheduleIn(everyMs)
      },
    )
  }
  scheduleIn(everyMs)
  return () => {
    stopped = true
    cancel()
    tell()
  }
}
