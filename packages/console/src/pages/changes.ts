import { parseId } from '@bonded/contract'
import { AUDIT_CLASSES } from '@bonded/cli/program/audit-classes'
import type { AuditEntry, AuditTarget } from '@bonded/core/domain/audit'
import { listAudit } from '@bonded/core/operations/admin/list-audit'
import { reportReceiptLog } from '@bonded/core/operations/admin/report-receipt-log'
import { numberIn, PAGE_ROWS, textIn, timeIn, withMember } from '../fields.ts'
import { type Html, html, type Part } from '../html.ts'
import { badge, idOf, stored, tableOf, tenantOf, timeOf } from '../layout.ts'
import { type Asked, page, type View } from '../page.ts'
import { warningsOf } from './log.ts'

/** Operators read far more than they change. */
const READS = Object.keys(AUDIT_CLASSES).filter((name) => AUDIT_CLASSES[name] === 'reads_person')

/** What operators and tenants did, newest first, and whether this record is intact. */
export const changes = page({
  path: '/changes',
  query: ['about', 'action', 'since', 'until', 'reads', 'before'],
  action: 'audit list',
  role: 'viewer',
  title: 'What changed',
  input: ({ query }: Asked) => ({
    query,
    about: aboutIn(query),
    action: textIn(query, 'action'),
    since: timeIn(query, 'since'),
    until: timeIn(query, 'until'),
    before: numberIn(query, 'before'),
    without: textIn(query, 'action') || query.has('reads') ? [] : READS,
  }),
  target: ({ about }: { readonly about: AuditTarget | undefined }) => about ?? {},
  async read(service, { query: _query, about, ...query }) {
    const wanted = { ...query, newestFirst: true, limit: PAGE_ROWS }
    const entries = about ? await listAudit(service, { target: about, query: wanted }) : []
    return { entries, log: await reportReceiptLog(service) }
  },
  tenants: ({ entries }) => entries.flatMap(({ tenantId }) => tenantId ?? []),
  draw({ entries, log }, view, { query, about }) {
    const last = entries.length === PAGE_ROWS ? entries.at(-1) : undefined
    return html`${filters(query)}
${
  about?.deviceId &&
  html`<p class="hint">Entries name the user of this device, who can have other devices. <a href="/devices/${about.deviceId}">The history of the device</a> has the references of those that changed it.</p>`
}
${tableOf(
  ['Time', 'Who', 'What', 'About', 'Result', 'Change'],
  entries.map((entry) => rowOf(entry, view)),
  about
    ? 'Nothing was recorded with these filters. Remove one, or take a longer time.'
    : 'This is no id of a tenant (ten_…), a device (dev_…), or a user (sub_…). Copy it whole.',
)}
${last && html`<p><a class="button quiet" href="/changes${withMember(query, 'before', String(last.number))}">Earlier entries</a></p>`}
<h2>Is this record complete?</h2>
${warningsOf(log)}
<p>The log has ${log.entries} entries and receipts under a checkpoint. Witnesses that cosigned it: ${log.witnesses.filter(({ hasCosigned }) => hasCosigned).length}. <a href="/log">Open the receipt log</a></p>
<p class="hint">To verify every entry against a checkpoint that you have stored, run <code>bonded audit verify --checkpoint &lt;file&gt;</code>. For a SIEM, run <code>bonded audit export</code>.</p>`
  },
})

/** The tenant or the user that the filter names, also by a device; undefined without an id. */
function aboutIn(query: URLSearchParams): AuditTarget | undefined {
  const text = textIn(query, 'about')
  if (text === undefined) return {}
  const [tenantId, deviceId, subjectId] = [
    parseId('ten', text),
    parseId('dev', text),
    parseId('sub', text),
  ]
  return tenantId || deviceId || subjectId ? { tenantId, deviceId, subjectId } : undefined
}

function rowOf(entry: AuditEntry, view: View): readonly Part[] {
  const { at, actorKind, actor, issuer, address, action, requestId } = entry
  const { result, reason, tenantId, person } = entry
  return [
    timeOf(at, view.now),
    html`${stored(actor)}<p class="hint"><span class="nowrap">${actorKind}</span>${address && html`, ${address}`}${issuer && html`, ${issuer}`}</p>`,
    html`<code class="nowrap">${action}</code> <p class="hint">${idOf(requestId)}</p>${reason && html`<p class="hint">${stored(reason)}</p>`}`,
    html`${tenantId && tenantOf(tenantId, view)}${person && html`<p class="hint">Pseudonym of the user ${idOf(person)}</p>`}`,
    result === 'success' ? badge('done', 'good') : badge(result, 'bad'),
    difference(entry),
  ]
}

/** The members that changed, each before and after. One alone is shown at once. */
function difference({ valueBefore, valueAfter }: AuditEntry): Html | false {
  const [before, after] = [valueBefore, valueAfter].map(
    (value) => JSON.parse(value ?? '{}') as Readonly<Record<string, unknown>>,
  ) as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  if (names.length === 0) return false
  const lines = names.map(
    (name) =>
      html`<div><code>${name}</code> <bdi>${shown(before[name])}</bdi> → <bdi>${shown(after[name])}</bdi></div>`,
  )
  if (lines.length === 1) return html`${lines}`
  return html`<details><summary class="nowrap">${lines.length} fields</summary>${lines}</details>`
}

function shown(value: unknown): string {
  return value === undefined || value === null ? 'none' : JSON.stringify(value)
}

function filters(query: URLSearchParams): Html {
  return html`<form class="filters">
<label class="wide">Name of a tenant, or id of a device or a user <input name="about" value="${query.get('about')}" placeholder="dev_…" autocomplete="off" spellcheck="false"></label>
<label>Action <input name="action" value="${query.get('action')}" placeholder="device block" autocomplete="off"></label>
<label>From (UTC) <input type="datetime-local" name="since" value="${query.get('since')}"></label>
<label>To (UTC) <input type="datetime-local" name="until" value="${query.get('until')}"></label>
<label class="check"><input type="checkbox" name="reads" value="1"${query.has('reads') && html` checked`}> What they read, too</label>
<button>Filter</button></form>`
}
