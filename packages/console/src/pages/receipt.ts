import { parseId, type SessionId } from '@bonded/contract'
import { checkReceipt } from '@bonded/cli/user/checked-receipt'
import { queryOf } from '../fields.ts'
import { html } from '../html.ts'
import { badge, factsOf, idOf, stored, timeOf } from '../layout.ts'
import { page } from '../page.ts'
import { context } from './session.ts'

/** What to do about a receipt that may be sound. */
const WHY: Readonly<Record<string, string>> = {
  key_unknown:
    'The console has no key that signed it. Start it with the BONDED_RECEIPT_KEYS of the service, retired keys among them.',
  one_of_several:
    'It is of one approval of several, and proves nothing alone. The tenant verifies the receipts of all users who approved together.',
}

/** A receipt, verified as a tenant does, with the keys that this installation has. */
export const receipt = page({
  path: '/receipt',
  query: ['session'],
  action: 'receipt get',
  role: 'support',
  title: 'Receipt',
  input: ({ query }) => parseId('sess', query.get('session')?.trim() ?? ''),
  target: (sessionId: SessionId) => ({ sessionId }),
  read: checkReceipt,
  draw({ jws, proof, verdict }, { now }, id) {
    const raw = html`<details><summary>The receipt as it is stored</summary><pre>${jws}</pre></details>`
    if (verdict.decision === 'reject')
      return html`<p>${badge('does not verify', 'bad')} <code>${verdict.reason}</code></p>
<p>${WHY[verdict.reason] ?? 'Do not rely on it. Compare it with the copy that the tenant has stored, and verify the audit log.'}</p>${raw}`
    const { claims, checkpoint } = verdict
    return html`<p>${badge('verifies', 'good')} The service signed it, and the phone signed what it shows${
      checkpoint ? '. The log of receipts has it.' : '.'
    }</p>
${proof === null && html`<p class="hint">The log has no checkpoint with it yet. The service appends receipts within ${claims.log_delay_seconds} seconds.</p>`}
${factsOf([
  ['Session', idOf(id, `/sessions/${id}`)],
  ['State', badge(claims.state, 'good')],
  [
    'Tenant',
    html`${stored(claims.tenant_name)} <a class="open" href="/tenants/${claims.aud}">Open</a>`,
  ],
  ['Workflow and action', html`<code>${claims.workflow}</code> <code>${claims.action}</code>`],
  [
    'User, as the tenant knows them',
    idOf(claims.subject_ref, `/user${queryOf(claims.aud, claims.subject_ref ?? '')}`),
  ],
  ['Phone, as the tenant knows it', idOf(claims.device_ref)],
  ['Approved', timeOf(claims.bonded_at, now)],
  ['Completed', timeOf(claims.completed_at, now)],
  ['Kind of key', html`<code>${claims.device_format}</code>`],
  ['Band of the assertion', html`<code>${claims.verification.assertion_band}</code>`],
  ['Log', checkpoint ? html`${checkpoint.origin}, ${checkpoint.size} entries` : 'not yet'],
])}
${context(claims.context)}
${raw}`
  },
})
