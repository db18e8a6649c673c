import { type ClosingReason, logOrigin } from '../../domain/receipt-log.ts'
import { beginLog } from '../receipt/log-epochs.ts'
import type { Service } from '../service.ts'

/** A log that was closed, and the one that continues it. */
export interface BegunLog {
  readonly closed: string
  readonly entries: number
  readonly origin: string
}

/** Begins another log of receipts, which nodes sign from then on. */
export async function beginLogAsOperator(
  service: Service,
  reason: ClosingReason,
): Promise<BegunLog> {
  const { publicOrigin } = service.settings
  return service.store.write(function* (tables) {
    const closed = yield* tables.receiptLog.head()
    const begun = yield* beginLog(service, tables, reason)
    return {
      closed: logOrigin(publicOrigin, closed.epoch),
      entries: closed.checkpointSize,
      origin: logOrigin(publicOrigin, begun.epoch),
    }
  })
}
