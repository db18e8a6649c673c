import type { SessionId } from '@bonded/contract'
import type { Service } from '../service.ts'

/** Protocol 9: the maximum time of a long poll. */
export const LONGEST_WAIT_MS = 25_000

/**
 * Waits for the session to change beyond what the caller knows.
 *
 * @param wait.seen the `seq` that was just read
 * @param wait.known the `seq` that the caller already has
 * @returns true where it is worth reading again
 */
export function awaitChange(
  service: Service,
  wait: { id: SessionId; seen: number; known: number; waitMs: number; signal: AbortSignal },
): Promise<boolean> {
  const { id, seen, known, signal } = wait
  if (seen > known || signal.aborted) return Promise.resolve(false)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const end = (changed: boolean) => {
    unsubscribe()
    cancel()
    signal.removeEventListener('abort', abort)
    resolve(changed)
  }
  const abort = () => end(false)
  const unsubscribe = service.bus.subscribe(id, ({ seq }) => seq > known && end(true))
  const cancel = service.clock.schedule(
    service.clock.now() + Math.min(wait.waitMs, LONGEST_WAIT_MS),
    () => end(true),
  )
  signal.addEventListener('abort', abort)
  // The session may have changed between the read and the subscription.
  void service.store
    .read((tables) => tables.sessions.find(id))
    .then(
      (session) => (session === undefined || session.seq > known) && end(true),
      () => end(true),
    )
  return promise
}
