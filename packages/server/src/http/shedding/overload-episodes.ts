import type { ShedPriority, ShedStanding } from '@bonded/core/ports/meter'
import type { Logger } from 'pino'

/** An overload is over after this long without a rejection. */
export const QUIET_MS = 5_000

/**
 * Logs each overload with two lines: when the service begins to reject requests, and when it has
 * stopped. A line for each request would cost more than the request.
 */
export function overloadEpisodes(log: Logger, now: () => number = () => performance.now()) {
  let rejected: Record<string, number> = {}
  let startedMs = 0
  let latestMs = 0
  let quiet: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(quiet)
    quiet = undefined
    const ms = Math.round(latestMs - startedMs)
    log.warn({ ms, rejected }, 'overload ended')
    rejected = {}
  }
  return {
    count(priority: ShedPriority, standing: ShedStanding) {
      latestMs = now()
      if (quiet === undefined) {
        startedMs = latestMs
        log.warn({ priority, caller: standing }, 'overload: requests are rejected')
      }
      clearTimeout(quiet)
      quiet = setTimeout(end, QUIET_MS).unref()
      for (const name of [priority, standing]) rejected[name] = (rejected[name] ?? 0) + 1
    },
    [Symbol.dispose]() {
      if (quiet !== undefined) end()
    },
  }
}
