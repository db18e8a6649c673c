import type { ContainmentReport, SessionId } from '@bonded/contract'
import { accept, type Result } from '../../domain/rejection.ts'
import { findAndExpireWatchedSession } from '../session/find-and-expire.ts'
import type { BrowserCaller, Service } from '../service.ts'

/**
 * Records in the timeline what a widget reports about its container. The report is a claim of the
 * browser: a hostile page can send any. It therefore changes neither the session nor a score.
 */
export async function recordContainment(
  service: Service,
  { key }: Pick<BrowserCaller, 'key'>,
  input: {
    readonly id: SessionId | undefined
    readonly watchToken: string | undefined
    readonly report: ContainmentReport
  },
): Promise<Result<void>> {
  const { id, watchToken, report } = input
  const now = service.clock.now()
  // Publishable keys are public, so a caller without a watch token must not occupy the writer.
  const found = await service.store.read((tables) =>
    findAndExpireWatchedSession(service, tables, { id, key, watchToken }),
  )
  if (!found.ok) return found
  await service.store.write((tables) =>
    tables.sessions.note(found.value.id, {
      at: now,
      kind: 'containment',
      reason: report.verdict,
      step: report.breaches.join(', ') || null,
    }),
  )
  return accept(undefined)
}
