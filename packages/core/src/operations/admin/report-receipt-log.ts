import { iso } from '../../domain/iso.ts'
import type { Instant } from '../../domain/session.ts'
import { LOG_DELAY_SECONDS, logOrigin } from '../../domain/receipt-log.ts'
import type { Service } from '../service.ts'

/** Witnesses that are down for so long can hide a problem from every verifier. */
const WARN_MS = 24 * 60 * 60_000

/** The log of receipts, and what is wrong with it. */
export interface ReceiptLogReport {
  readonly entries: number
  /** How many of them are entries of the audit log. */
  readonly auditEntries: number
  /** The logs before this one, which a restore or a failover has closed. */
  readonly closed: number
  /** The latest checkpoint covers this many entries, and the latest cosigned one this many. */
  readonly checkpointSize: number
  readonly cosignedSize: number
  /** Null before the first one. */
  readonly cosignedAt: Instant | null
  readonly origin: string
  /** The configured witnesses, and whether each has cosigned the latest cosigned checkpoint. */
  readonly witnesses: readonly { readonly name: string; readonly hasCosigned: boolean }[]
  readonly warnings: readonly string[]
}

export async function reportReceiptLog(service: Service): Promise<ReceiptLogReport> {
  const { store, clock, settings, witnesses = [] } = service
  const { head, oldest, action, closed } = await store.read(function* (tables) {
    const { audit, receiptLog, receipts } = tables
    const [first] = yield* receipts.unlogged(1)
    const current = yield* receiptLog.head()
    const [entry] = yield* audit.list({ after: current.auditSize, limit: 1 })
    return {
      head: current,
      oldest: first,
      action: entry,
      closed: yield* receiptLog.closed(),
    }
  })
  const now = clock.now()
  const lines = head.cosigned.split('\n')
  const warnings: string[] = []
  if (head.refused !== '')
    warnings.push(
      `No node signs the log of receipts. ${head.refused} If the database was restored or has lost changes, run: bonded receipt new-epoch. If this is the wrong database, set BONDED_DATABASE_URL to the right one.`,
    )
  const last = closed.at(-1)
  if (last !== undefined && now - last.closedAt < WARN_MS)
    warnings.push(
      `A log of receipts was closed at ${iso(last.closedAt)} (${last.reason}), and another one continues it. Tell your tenants, and ask the operators of the witnesses to accept ${logOrigin(settings.publicOrigin, head.epoch)}.`,
    )
  if (oldest !== undefined && now - oldest.madeAt > LOG_DELAY_SECONDS * 1_000)
    warnings.push(
      `The receipt of ${iso(oldest.madeAt)} is not in the log, although receipts promise ${LOG_DELAY_SECONDS} s. Usually the service does not run, or has no receipt keys; otherwise its log names the problem. The service keeps such receipts until it has appended them.`,
    )
  if (action !== undefined && now - action.at > LOG_DELAY_SECONDS * 1_000)
    warnings.push(
      `The audit entry ${action.number} of ${iso(action.at)} is not in the log of receipts. Usually the service does not run, or has no receipt keys. A change of the entry cannot be found until it is there.`,
    )
  if (head.size > 0 && witnesses.length > 0 && now - head.cosignedAt > WARN_MS) {
    const since = head.cosigned === '' ? 'yet' : `since ${iso(head.cosignedAt)}`
    warnings.push(
      `No witness has cosigned the log of receipts ${since}. The service's log names the problem of each.`,
    )
  }
  return {
    entries: head.size,
    auditEntries: head.auditSize,
    closed: closed.length,
    checkpointSize: head.checkpointSize,
    cosignedSize: head.cosignedSize,
    cosignedAt: head.cosigned === '' ? null : head.cosignedAt,
    origin: logOrigin(settings.publicOrigin, head.epoch),
    witnesses: witnesses.map((witness) => ({
      name: witness.name,
      hasCosigned: lines.some((line) => witness.isLine(line)),
    })),
    warnings,
  }
}
