import { hasMoved, MOVES } from '../../protocol/states.ts'
import type { Service } from '../service.ts'
import { listSessions } from './list-sessions.ts'

/** The newest sessions of the service that are read. */
const SESSIONS_READ = 1_000

/** What the backends of the newest sessions said when they completed them. */
export interface CompletionReport {
  readonly completed: number
  /** Sentences for the operator, one for each tenant whose completions lack an outcome. */
  readonly warnings: readonly string[]
}

/**
 * Finds the tenants whose backends complete sessions without `X-Bond-Outcome`. Users then read that
 * a request is complete, even if an employee still decides, and keys do not become known.
 */
export async function reportCompletions(service: Service): Promise<CompletionReport> {
  const { sessions } = await listSessions(service, { limit: SESSIONS_READ })
  const completed = sessions.filter((listed) => hasMoved(listed, MOVES.complete))
  const without = new Map<string, number>()
  for (const { session } of completed)
    if (session.outcome === null)
      without.set(session.tenantId, (without.get(session.tenantId) ?? 0) + 1)
  const warnings = [...without].map(
    ([tenant, count]) =>
      `The backend of the tenant ${tenant} completed ${count} recent sessions without X-Bond-Outcome. Users then read “complete” where an employee still decides, and their keys do not become known. Upgrade its @bonded/integrator, or send the header`,
  )
  return { completed: completed.length, warnings }
}
