import { iso } from '../../domain/iso.ts'
import { LOG_DELAY_SECONDS } from '../../domain/receipt-log.ts'
import type { Service } from '../service.ts'

/** Witnesses that are down for so long can hide a problem from every verifier. */
const WARN_MS = 24 * 60 * 60_000

/** The log of receipts, and what is wrong with it. */
export interface ReceiptLogReport {
  readonly entries: number
  /** How many of the configured witnesses have cosigned the latest cosigned checkpoint. */
  readonly cosigners: number
  readonly warnings: readonly string[]
}

export async function reportReceiptLog(service: Service): Promise<ReceiptLogReport> {
  const { store, clock, witnesses = [] } = service
  const { head, oldest } = await store.read(function* ({ receiptLog, receipts }) {
    const [first] = yield* receipts.unlogged(1)
    return { head: yield* receiptLog.head(), oldest: first }
  })
  const now = clock.now()
  const lines = head.cosigned.split('\n')
  const cosigners = witnesses.filter((witness) => lines.some((line) => witness.isLine(line)))
  const warnings: string[] = []
  if (oldest !== undefined && now - oldest.madeAt > LOG_DELAY_SECONDS * 1_000)
    warnings.push(
      `The receipt of ${iso(oldest.madeAt)} is not in the log, although receipts promise ${LOG_DELAY_SECONDS} s. Usually the service does not run, or has no receipt keys; otherwise its log names the problem. The service keeps such receipts until it has appended them.`,
    )
  if (head.size > 0 && witnesses.length > 0 && now - head.cosignedAt > WARN_MS) {
    const since = head.cosigned === '' ? 'yet' : `since ${iso(head.cosignedAt)}`
    warnings.push(
      `No witness has cosigned the log of receipts ${since}. The service's log names the problem of each.`,
    )
  }
  return { entries: head.size, cosigners: cosigners.length, warnings }
}
