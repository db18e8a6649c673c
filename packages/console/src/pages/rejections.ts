import {
  parseId,
  PATH_TEXTS,
  REASONS,
  REJECTION_CURSOR,
  type RequestId,
  type SessionId,
} from '@bonded/contract'
import { searchRejections } from '@bonded/core/operations/tenant/search-rejections'
import type { RejectionKey } from '@bonded/core/ports/tables/rejection-table'
import { EXPLANATIONS } from '@bonded/core/protocol/explanations'
import { PAGE_ROWS, textIn, timeIn, withMember } from '../fields.ts'
import { type Html, html } from '../html.ts'
import { idOf, tableOf, tenantOf, timeOf } from '../layout.ts'
import { type Asked, page } from '../page.ts'

interface Input {
  readonly query: URLSearchParams
  readonly requestId: RequestId | undefined
  readonly sessionId: SessionId | undefined
  readonly subjectRef: string | undefined
  readonly reason: string | undefined
  readonly since: number | undefined
  readonly until: number | undefined
  readonly before: RejectionKey | undefined
  /** Whether the search text is nothing that can be searched for. */
  readonly isUnknown: boolean
}

/** Why requests were rejected, also of sessions that are deleted. */
export const rejections = page({
  path: '/rejections',
  query: ['q', 'reason', 'since', 'until', 'after'],
  action: 'session rejections',
  role: 'support',
  title: 'Rejected requests',
  input: inputOf,
  target: ({ sessionId, subjectRef }: Input) => ({ sessionId, subjectRef }),
  async read(service, { query: _query, isUnknown, ...search }) {
    const wanted = { ...search, tenantId: undefined, limit: PAGE_ROWS }
    return isUnknown ? { rejections: [], next: null } : searchRejections(service, wanted)
  },
  tenants: ({ rejections: found }) => found.map(({ tenantId }) => tenantId),
  draw({ rejections: found, next }, view, input) {
    const { now, publicOrigin } = view
    const rows = found.map(({ at, reason, step, requestId, sessionId, tenantId }) => [
      timeOf(at, now),
      whyOf({ reason, step, publicOrigin }),
      idOf(requestId),
      idOf(sessionId, `/sessions/${sessionId}`),
      tenantOf(tenantId, view),
    ])
    const { query, isUnknown, sessionId } = input
    const deviceId = parseId('dev', textIn(query, 'q') ?? '')
    return html`${filters(query)}
${sessionId && html`<p><a class="button quiet" href="/sessions/${sessionId}">Open the session</a></p>`}
${deviceId && html`<p><a class="button quiet" href="/devices/${deviceId}">Open the device</a></p>`}
${tableOf(
  ['Time', 'Why', 'Reference', 'Session', 'Tenant'],
  rows,
  deviceId
    ? 'Rejections name no device. Its page has its history, and leads to its user.'
    : isUnknown
      ? 'This is no reference (req_…), session id (sess_…), or subject_ref. Copy it whole from the user’s screen or your backend’s log.'
      : next === null
        ? 'No request was rejected with these filters. Remove one, or search a longer time: reasons are kept for 30 days unless you set another period.'
        : 'None in the part that was searched. Search on.',
)}
${next && html`<p><a class="button quiet" href="/rejections${withMember(query, 'after', `${next.at}.${next.requestId}`)}">Earlier rejections</a></p>`}`
  },
})

function inputOf({ query }: Asked): Input {
  const q = textIn(query, 'q') ?? ''
  const [requestId, sessionId] = [parseId('req', q), parseId('sess', q)]
  const subjectRef = PATH_TEXTS.subject_ref.test(q) ? q : undefined
  const [, at = '', request = ''] = REJECTION_CURSOR.exec(query.get('after') ?? '') ?? []
  const after = parseId('req', request)
  return {
    query,
    requestId,
    sessionId,
    subjectRef,
    reason: textIn(query, 'reason'),
    since: timeIn(query, 'since'),
    until: timeIn(query, 'until'),
    before: after && { at: Number(at), requestId: after },
    isUnknown: q !== '' && !requestId && !sessionId && !subjectRef,
  }
}

/** The reason of a rejection with its page, and what the check that failed means. */
export function whyOf(given: {
  readonly reason: string | null
  readonly step: string | null
  readonly publicOrigin: string
}): Html {
  const { reason, step, publicOrigin } = given
  const isListed = reason !== null && Object.hasOwn(REASONS, reason)
  const meaning: Readonly<Record<string, string>> = EXPLANATIONS
  return html`${
    isListed
      ? html`<a href="${publicOrigin}/reasons#${reason}"><code>${reason}</code></a>`
      : html`<code>${reason}</code>`
  }${
    step !== null &&
    html`<p class="hint"><code>${step}</code>${Object.hasOwn(meaning, step) && `: ${meaning[step]}`}</p>`
  }`
}

function filters(query: URLSearchParams): Html {
  return html`<form class="filters">
<label class="wide">Reference, session id, or subject_ref
<input name="q" value="${query.get('q')}" autocomplete="off" spellcheck="false"></label>
<label>Reason <input name="reason" value="${query.get('reason')}" list="reasons" autocomplete="off"></label>
<datalist id="reasons">${Object.keys(REASONS).map((reason) => html`<option>${reason}</option>`)}</datalist>
<label>From (UTC) <input type="datetime-local" name="since" value="${query.get('since')}"></label>
<label>To (UTC) <input type="datetime-local" name="until" value="${query.get('until')}"></label>
<button>Search</button></form>`
}
