import { reportReceiptLog } from '@bonded/core/operations/admin/report-receipt-log'
import { html } from '../html.ts'
import { badge, factsOf, idOf, stored, tableOf, timeOf } from '../layout.ts'
import { NOTHING, page } from '../page.ts'

/** The log of receipts and audit entries, and who has seen it. */
export const log = page({
  ...NOTHING,
  path: '/log',
  // The report reads the oldest receipt that is not in the log.
  action: 'audit list',
  role: 'viewer',
  title: 'Receipt log',
  read: reportReceiptLog,
  draw(found, { now }) {
    return html`${warningsOf(found)}
${factsOf([
  ['Log', idOf(found.origin)],
  ['Entries', found.entries],
  ['Audit entries among them', found.auditEntries],
  ['Entries under the latest checkpoint', found.checkpointSize],
  ['Entries under the latest cosigned checkpoint', found.cosignedSize],
  ['Cosigned', timeOf(found.cosignedAt, now)],
  ['Logs that were closed before', found.closed],
])}
<h2>Witnesses</h2>
${tableOf(
  ['Witness', 'Latest cosigned checkpoint'],
  found.witnesses.map(({ name, hasCosigned }) => [
    stored(name),
    hasCosigned ? badge('cosigned', 'good') : badge('not cosigned', 'bad'),
  ]),
  'None. BONDED_RECEIPT_WITNESSES names witnesses, which notice a log that was replaced.',
)}`
  },
})

/** What an operator should look into. */
export function warningsOf({ warnings }: { readonly warnings: readonly string[] }) {
  return warnings.map((warning) => html`<p>${badge('warning', 'bad')} ${warning}</p>`)
}
