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
  // Watchers are told of an expiry when it happens; this is for the rest.
  { work: 'expire', everyMs: 1_000, batch: expireSessions },
  // What the command line changes is told to watchers within a second; asking costs a few microseconds.
  { work: 'tell_foreign', everyMs: 250, batch: publishExternalChanges },
  { work: 'forget', everyMs: 60_000, batch: purgeSessions },
]

/**
 * Does the work that nobody asked for, a bounded batch in a turn, for as long as there is some. @returns stops it,
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
