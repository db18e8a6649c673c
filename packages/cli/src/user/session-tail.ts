import { setTimeout as delay } from 'node:timers/promises'
import { type EndedReason, hasEnded, type SessionId, type TimelineEntry } from '@bonded/contract'
import type { Session } from '@bonded/core/domain/session'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import type { Service } from '@bonded/core/operations/service'

/** Soon enough for a reader, and a cheap query of one session. */
const PAUSE_MS = 500

/** What a session has become. */
export interface SessionEnd {
  readonly session_id: SessionId
  readonly state: Session['state']
  readonly ended_reason: EndedReason | null
}

/**
 * Yields the events of a session as they are stored, and at last what it has become.
 *
 * @param pause before the session is read again
 */
export async function* followSession(
  service: Service,
  id: SessionId,
  pause: () => Promise<unknown> = () => delay(PAUSE_MS),
): AsyncGenerator<TimelineEntry | SessionEnd> {
  // By content: an event of another process can get a place before those that were shown.
  const shown = new Set<string>()
  for (;;) {
    const { session, state, timeline } = await inspectSession(service, id)
    for (const entry of timeline) {
      const text = JSON.stringify(entry)
      if (!shown.has(text)) yield entry
      shown.add(text)
    }
    if (hasEnded(state)) return yield { session_id: id, state, ended_reason: session.endedReason }
    await pause()
  }
}
