import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { systemRandom } from '../adapters/keys/random.ts'
import { listenWhileWaiting } from '../http/waiting-server.ts'
import { StoreError } from '../ports/store.ts'

/** How often the service tries to reach its database. */
const RETRY_MS = 1_000

/**
 * Opens the service. While its database cannot be reached, the process is alive and not ready, and
 * tries again. Every other failure, such as a wrong password, ends the start.
 */
export async function openWhenReachable<T>(
  open: () => Promise<T>,
  { host, port, log }: { readonly host: string; readonly port: number; readonly log: Logger },
): Promise<T> {
  const failure = await unreachable(open)
  if (!(failure instanceof StoreError)) return failure.opened
  const waiting = await listenWhileWaiting({ host, port, random: systemRandom() })
  log.warn({ err: failure }, 'the database cannot be reached: waiting for it, alive and not ready')
  try {
    for (;;) {
      await pause(RETRY_MS)
      const again = await unreachable(open)
      if (again instanceof StoreError) continue
      log.info('the database can be reached')
      return again.opened
    }
  } finally {
    await waiting[Symbol.asyncDispose]()
  }
}

async function unreachable<T>(
  open: () => Promise<T>,
): Promise<StoreError | { readonly opened: T }> {
  try {
    return { opened: await open() }
  } catch (failure) {
    if (failure instanceof StoreError && failure.kind === 'unreachable') return failure
    throw failure
  }
}
