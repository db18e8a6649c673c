import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { systemRandom } from '@bonded/server/adapters/keys/random'
import { listenWhileWaiting } from '@bonded/server/http/connection/waiting-server'
import type { Meter } from '@bonded/core/ports/meter'
import { StoreError } from '@bonded/core/ports/store'

/** How often the service tries to reach its database. */
const RETRY_MS = 1_000

/** The failures that end by themselves, and what the readiness says meanwhile. */
const UNREADY = { unreachable: 'store_unreadable', not_migrated: 'migrations_pending' } as const

/**
 * Opens the service. While its database cannot be reached, or another role must migrate it, the
 * process is alive and not ready, and tries again. Every other failure, such as a wrong password,
 * ends the start.
 */
export async function openWhenReachable<T>(
  open: () => Promise<T>,
  given: {
    readonly host: string
    readonly port: number
    readonly log: Logger
    /** Counts each attempt that fails. */
    readonly meter?: Meter | undefined
  },
): Promise<T> {
  const { host, port, log, meter } = given
  let tried = await attempt(open)
  if ('opened' in tried) return tried.opened
  let { why } = tried
  const unready = () => [UNREADY[why]]
  const waiting = await listenWhileWaiting({ host, port, random: systemRandom(), unready })
  logWaiting(log, tried)
  try {
    for (;;) {
      meter?.failed(`database_${why}`)
      await pause(RETRY_MS)
      tried = await attempt(open)
      if ('opened' in tried) {
        log.info('the database can be used')
        return tried.opened
      }
      if (tried.why !== why) logWaiting(log, tried)
      why = tried.why
    }
  } finally {
    await waiting[Symbol.asyncDispose]()
  }
}

interface Waiting {
  readonly why: keyof typeof UNREADY
  readonly failure: StoreError
}

function logWaiting(log: Logger, { why, failure: err }: Waiting): void {
  if (why === 'unreachable')
    log.warn({ err }, 'the database cannot be reached: waiting for it, alive and not ready')
  else
    log.warn(
      { err },
      'the database is not migrated for this version: waiting for bonded migrate up, alive and not ready',
    )
}

async function attempt<T>(open: () => Promise<T>): Promise<Waiting | { readonly opened: T }> {
  try {
    return { opened: await open() }
  } catch (failure) {
    if (failure instanceof StoreError)
      for (const why of ['unreachable', 'not_migrated'] as const)
        if (failure.kind === why) return { why, failure }
    throw failure
  }
}
