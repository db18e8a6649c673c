import { iso } from '../../domain/iso.ts'
import { BREAKER_FAILURES } from '../../domain/webhooks.ts'
import type { WebhookFigures } from '../../ports/meter.ts'
import type { Service } from '../service.ts'

/** The audit log should arrive within minutes. */
const LATE_MS = 5 * 60_000

/** The webhooks of all owners, and a warning for each endpoint that receives none. */
export interface WebhookReport extends WebhookFigures {
  readonly endpoints: number
  readonly warnings: readonly string[]
}

export async function reportWebhooks({ clock, store }: Service): Promise<WebhookReport> {
  const now = clock.now()
  const { endpoints, figures, future } = await store.read(function* (tables) {
    return {
      endpoints: yield* tables.webhooks.endpoints(),
      figures: yield* tables.webhooks.figures(now),
      future: yield* tables.webhooks.futureTimes(now),
    }
  })
  const warnings = endpoints.flatMap(({ id, tenantId, disabledReason, failures }) => {
    const owner = tenantId === 'operator' ? 'the operator' : tenantId
    const endpoint = `The webhook endpoint ${id} of ${owner}`
    if (disabledReason === 'gone') return [`${endpoint} is disabled: it answered 410.`]
    const isFailing = disabledReason === null && failures >= BREAKER_FAILURES
    return isFailing ? [`${endpoint} has failed ${failures} times in a row.`] : []
  })
  if (figures.oldestAuditMs > LATE_MS)
    warnings.push(
      `An endpoint of the operator has not accepted an audit entry of ${iso(now - figures.oldestAuditMs)}. Usually it rejects the calls, or no service runs: bonded webhook list operator`,
    )
  if (future > 0)
    warnings.push(
      `${future} times of webhooks are in the future: a clock was ahead, or this one is behind. ` +
        'A running service with the right time repairs them within a minute.',
    )
  return { ...figures, endpoints: endpoints.length, warnings }
}
