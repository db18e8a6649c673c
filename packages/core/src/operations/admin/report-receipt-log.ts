import type { Service } from '../service.ts'

/** Witnesses that are down for so long can hide a problem from every verifier. */
const WARN_MS = 24 * 60 * 60_000

/** The log of receipts, and a warning if no witness cosigns it. */
export interface ReceiptLogReport {
  readonly entries: number
  /** How many of the configured witnesses have cosigned the latest cosigned checkpoint. */
  readonly cosigners: number
  readonly warnings: readonly string[]
}

export async function reportReceiptLog(service: Service): Promise<ReceiptLogReport> {
  const { store, clock, witnesses = [] } = service
  const head = await store.read(({ receiptLog }) => receiptLog.head())
  const lines = head.cosigned.split('\n')
  const cosigners = witnesses.filter((witness) => lines.some((line) => witness.isLine(line)))
  const isOld = clock.now() - head.cosignedAt > WARN_MS
  const hasWarning = head.size > 0 && witnesses.length > 0 && isOld
  const since = head.cosigned === '' ? 'yet' : `since ${new Date(head.cosignedAt).toISOString()}`
  return {
    entries: head.size,
    cosigners: cosigners.length,
    warnings: hasWarning
      ? [
          `No witness has cosigned the log of receipts ${since}. The service's log names the problem of each.`,
        ]
      : [],
  }
}
