import { parseId, type TenantId } from '@bonded/contract'
import {
  endedOf,
  HOUR_MS,
  LATENCY_BOUNDS_S,
  medianLatencyS,
  type Totals,
  type TotalsRow,
} from '@bonded/core/domain/totals'
import { reportTotals, type TotalsReport } from '@bonded/core/operations/admin/report-totals'
import { chartOf, shareBar } from '../charts.ts'
import { textIn, timeIn, withMember } from '../fields.ts'
import { type Html, html, type Part } from '../html.ts'
import { stored, tableOf } from '../layout.ts'
import { type Asked, page } from '../page.ts'
import {
  beginOf,
  RECENT,
  type Slot,
  slotsOf,
  slotText,
  TIME_SPANS,
  type TimeSpan,
} from '../time-spans.ts'

/** Enough to see which tenants failed. The command line has the others. */
const WORKFLOW_ROWS = 20
/**
 * There are sums of all tenants together, and an index by tenant. Everything else reads a row of
 * each tenant, workflow, and hour, of which a day can have 100,000.
 */
const TOO_LONG =
  'One workflow of all tenants is counted for this hour and the last only. Take that time, or choose a tenant too.'
const NO_TENANT = 'This is no tenant id (ten_…). Search for the tenant by its name.'
const LONGEST_BOUND_S = Math.max(...LATENCY_BOUNDS_S)

interface Input {
  readonly query: URLSearchParams
  readonly name: keyof typeof TIME_SPANS
  readonly span: TimeSpan
  /** The span of the table by tenant and workflow. */
  readonly ranked: TimeSpan
  readonly tenantId: TenantId | undefined
  readonly workflow: string | undefined
  /** The end of a past time; undefined for the present. */
  readonly end: number | undefined
  /** Why there is no answer, and what to do. */
  readonly problem: string | undefined
}

/** What is counted, in the order of the life of a request. */
const COUNTED = [
  { name: 'created', title: 'Created', tone: 'plain' },
  { name: 'inbox', title: 'To an inbox', tone: 'plain' },
  { name: 'stepUps', title: 'Step-ups', tone: 'plain' },
  { name: 'browserProofs', title: 'Browser proofs', tone: 'plain' },
  { name: 'approved', title: 'Approved', tone: 'good' },
  { name: 'declined', title: 'Declined', tone: 'bad' },
  { name: 'reported', title: 'Reported', tone: 'bad' },
  { name: 'expired', title: 'Expired', tone: 'bad' },
  { name: 'stopped', title: 'Stopped', tone: 'bad' },
  { name: 'rejections', title: 'Rejections', tone: 'bad' },
] as const satisfies readonly { name: keyof Totals; title: string; tone: string }[]

/** How requests end, over time and by tenant and workflow. It reads no data of a user. */
export const health = page({
  path: '/health',
  query: ['tenant', 'workflow', 'span', 'end'],
  action: 'stats',
  role: 'viewer',
  title: 'Is the flow healthy?',
  isLive: true,
  input: inputOf,
  target: ({ tenantId }: Input) => ({ tenantId }),
  async read(service, { span, ranked, tenantId, workflow, end, problem }) {
    if (problem !== undefined) return undefined
    const now = end === undefined ? service.clock.now() : end - 1
    const asked = { tenantId, workflow, since: beginOf(span, now), until: end }
    const limit = (span.slots * span.slotMs) / HOUR_MS + 1
    // PostgreSQL reads both at once, on two connections.
    const [times, parts] = await Promise.all([
      reportTotals(service, { ...asked, by: span.by, limit }),
      reportTotals(service, {
        ...asked,
        since: beginOf(ranked, now),
        by: 'workflow',
        limit: WORKFLOW_ROWS,
        isRanking: true,
      }),
    ])
    const ids = [tenantId, ...parts.rows.map((row) => row.tenantId)].flatMap((id) => id ?? [])
    return { now, times, parts: parts.rows, ids }
  },
  tenants: (data) => data?.ids ?? [],
  draw(data, { names }, input) {
    const { query, span, ranked, tenantId, end, problem } = input
    if (data === undefined) return html`${filters(input)}<p class="empty live">${problem}</p>`
    const { now, times, parts } = data
    const about =
      tenantId &&
      html`<p>Only <a href="/tenants/${tenantId}">${stored(names.get(tenantId))}</a>. <a href="/health${withMember(new URLSearchParams(), 'span', input.name)}">Show all tenants</a></p>`
    if (times.rows.length === 0)
      return html`${filters(input)}${about}<p class="empty live">No request was created or ended in this time. Take a longer time, or remove a filter.</p>`
    const slots = slotsOf(span, times.rows, now)
    return html`${filters(input)}${about}
<div class="live">${chartsOf(slots, times, { span, isPast: end !== undefined })}
<h2>By tenant and workflow: ${ranked.text.toLowerCase()}</h2>
<p class="hint">First the ones where the most requests ended without an approval.${ranked === RECENT && ' To see an earlier time, choose an hour below. To see a longer one, choose a tenant.'}${
      parts.length === WORKFLOW_ROWS &&
      html` These are ${WORKFLOW_ROWS}; <code>bonded stats --by workflow</code> lists all.`
    }</p>
${workflowTable(parts, { names, query })}
<h2>By ${span.slot}, in UTC</h2>
${timeTable(slots, { span, query })}</div>`
  },
})

function inputOf({ query }: Asked): Input {
  const [tenant, wanted] = [textIn(query, 'tenant'), textIn(query, 'span') ?? '']
  const tenantId = parseId('ten', tenant ?? '')
  const name = isSpan(wanted) ? wanted : 'day'
  const workflow = textIn(query, 'workflow')
  const isLong = name !== 'hour' && tenantId === undefined
  const end = name === 'hour' ? timeIn(query, 'end') : undefined
  const span =
    end === undefined
      ? TIME_SPANS[name]
      : { ...TIME_SPANS.hour, text: `The two hours until ${slotText(TIME_SPANS.hour, end)}` }
  return {
    query,
    name,
    span,
    end,
    ranked: isLong ? RECENT : span,
    tenantId,
    workflow,
    problem:
      tenant !== undefined && tenantId === undefined
        ? NO_TENANT
        : isLong && workflow !== undefined
          ? TOO_LONG
          : undefined,
  }
}

function isSpan(text: string): text is keyof typeof TIME_SPANS {
  return Object.hasOwn(TIME_SPANS, text)
}

function filters({ query, name, end, tenantId }: Input): Html {
  const present = new URLSearchParams(query)
  present.delete('end')
  const spans = Object.entries(TIME_SPANS).map(
    ([each, { text }]) =>
      html`<li><a class="button quiet" href="/health${withMember(present, 'span', each)}"${each === name && end === undefined && html` aria-current="true"`}>${text}</a></li>`,
  )
  return html`<nav aria-label="Time"><ul class="choice">${spans}</ul></nav>
<form class="filters"><input type="hidden" name="span" value="${name}">${end !== undefined && html`<input type="hidden" name="end" value="${query.get('end')}">`}
${
  tenantId
    ? html`<input type="hidden" name="tenant" value="${tenantId}">`
    : html`<label class="wide">Tenant, by a part of its name <input name="tenant" value="${query.get('tenant')}" autocomplete="off"></label>`
}
<label>Workflow <input name="workflow" value="${query.get('workflow')}" autocomplete="off" spellcheck="false"></label>
<button>Filter</button></form>`
}

/** One picture of how requests ended, and a small one of each count. */
function chartsOf(
  slots: readonly Slot[],
  { sum }: TotalsReport,
  { span, isPast }: { readonly span: TimeSpan; readonly isPast: boolean },
): Html {
  const { slot, slots: many } = span
  const last = isPast
    ? slotText(span, slots.at(-1)?.from ?? 0)
    : slot === 'hour'
      ? 'this hour'
      : 'today'
  const middle = many > 2 ? slotText(span, slots[many / 2]?.from ?? 0) : ''
  const axis = [slotText(span, slots[0]?.from ?? 0), middle, last]
  const barsOf = (sizeOf: (totals: Totals) => number, textOf: (totals: Totals) => string) =>
    slots.map(({ from, totals }) => ({
      size: sizeOf(totals),
      says: `${slotText(span, from)}: ${textOf(totals)}`,
    }))
  const both = (totals: Totals) =>
    `${counted(totals.approved)} approved, ${counted(failedOf(totals))} not`
  const ended = chartOf({
    title: 'Approved of those that ended',
    sum: shareOf(sum),
    label: `How requests ended by ${slot}: in total ${both(sum)}`,
    bars: barsOf(({ approved }) => approved, both),
    below: barsOf(failedOf, both),
    tone: 'good',
    axis,
  })
  const counts = countsOf(slots)
  const small = counts.map(({ name, title, tone }) => {
    const bars = barsOf(
      (totals) => totals[name],
      (totals) => counted(totals[name]),
    )
    const most = counted(Math.max(...bars.map(({ size }) => size)))
    const total = counted(sum[name])
    const label = `${title} by ${slot}: peak ${most}, in total ${total}`
    return chartOf({
      title,
      sum: total,
      label,
      bars,
      tone,
      axis: [`peak: ${most} ${slot === 'hour' ? 'an' : 'a'} ${slot}`],
    })
  })
  const median = chartOf({
    title: 'Median time',
    sum: latencyOf(sum),
    label: `Median time from creation to approval by ${slot}: in total ${latencyOf(sum)}`,
    bars: barsOf(
      ({ latencies }) => Math.min(medianLatencyS(latencies) ?? 0, LONGEST_BOUND_S),
      latencyOf,
    ),
    tone: 'plain',
    axis: ['to the approval'],
  })
  const zeros = COUNTED.filter((count) => !counts.includes(count)).map(({ title }) => title)
  return html`${endedOf(sum) > 0 && ended}
<p class="hint">Above the line: approved. Below it: declined, reported, expired, or stopped. A request counts as created when it is created, and as everything else when it ends.</p>
<div class="charts">${small}${sum.approved > 0 && median}</div>
${zeros.length > 0 && html`<p class="hint">None: ${zeros.join(', ')}.</p>`}`
}

function workflowTable(
  rows: readonly TotalsRow[],
  of: { readonly names: ReadonlyMap<TenantId, string>; readonly query: URLSearchParams },
): Html {
  const longest = Math.max(...rows.map(endedOf))
  return tableOf(
    ['Tenant', 'Workflow', 'Ended', 'Approved', 'Not approved', 'Rejections', 'Median'],
    rows.map((row) => {
      const ofTenant = withMember(of.query, 'tenant', row.tenantId ?? '')
      const ofWorkflow = withMember(new URLSearchParams(ofTenant), 'workflow', row.workflow ?? '')
      return [
        html`<a class="name" href="/health${ofTenant}">${stored(row.tenantId && of.names.get(row.tenantId))}</a>`,
        html`<a href="/health${ofWorkflow}"><code>${row.workflow}</code></a>`,
        html`${counted(endedOf(row))} ${shareBar(row.approved, failedOf(row), longest)}`,
        html`${counted(row.approved)} ${endedOf(row) > 0 && html`<span class="ago">(${shareOf(row)})</span>`}`,
        counted(failedOf(row)),
        counted(row.rejections),
        latencyOf(row),
      ]
    }),
    'No requests in this time.',
  )
}

/** The numbers of the charts, newest first. Times without a request have no row. */
function timeTable(
  slots: readonly Slot[],
  { span, query }: { readonly span: TimeSpan; readonly query: URLSearchParams },
): Html {
  const counts = countsOf(slots)
  const isEmpty = ({ totals }: Slot) => counts.every(({ name }) => totals[name] === 0)
  const rows = slots
    .filter((slot) => !isEmpty(slot))
    .toReversed()
    .map(({ from, totals }): readonly Part[] => [
      timeOfSlot(from, { span, query }),
      ...counts.map(({ name }) => counted(totals[name])),
      latencyOf(totals),
    ])
  const headings = ['From', ...counts.map(({ title }) => title), 'Median']
  return html`<div class="dense">${tableOf(headings, rows, 'No requests.')}</div>`
}

/** An hour leads to the tenants of that hour and the one before. */
function timeOfSlot(
  from: number,
  { span, query }: { readonly span: TimeSpan; readonly query: URLSearchParams },
): Html {
  const time = html`<time class="nowrap" datetime="${new Date(from).toISOString()}">${slotText(span, from)}</time>`
  if (span.slot !== 'hour') return time
  const end = new Date(from + span.slotMs).toISOString()
  const ofHour = new URLSearchParams(withMember(query, 'span', 'hour'))
  return html`<a href="/health${withMember(ofHour, 'end', end)}">${time}</a>`
}

/** What is not zero in all of them: a chart or a column of zeros takes room from the others. */
function countsOf(slots: readonly Slot[]) {
  return COUNTED.filter(({ name }) => slots.some(({ totals }) => totals[name] > 0))
}

function failedOf(totals: Totals): number {
  return endedOf(totals) - totals.approved
}

function counted(count: number): string {
  return count.toLocaleString('en-US')
}

function shareOf(totals: Totals): string {
  const ended = endedOf(totals)
  return ended === 0 ? 'none ended' : `${Math.round((100 * totals.approved) / ended)}%`
}

function latencyOf({ latencies }: Totals): string {
  const median = medianLatencyS(latencies)
  if (median === undefined) return 'none'
  return Number.isFinite(median) ? `${Math.round(median)} s` : `over ${LONGEST_BOUND_S} s`
}
