import { hasEnded, parseId, type SessionId, type TimelineEntry } from '@bonded/contract'
import { inspectSession, type SessionNow } from '@bonded/core/operations/admin/inspect-session'
import { listSessions } from '@bonded/core/operations/admin/list-sessions'
import { PAGE_ROWS, queryOf, textIn, userIn } from '../fields.ts'
import { type Html, html } from '../html.ts'
import {
  actionTo,
  badge,
  factsOf,
  idOf,
  linesOf,
  stored,
  tableOf,
  tenantOf,
  timeOf,
} from '../layout.ts'
import { type Asked, page, type View } from '../page.ts'
import { whyOf } from './rejections.ts'

const NO_OUTCOME = 'none: the backend sent no X-Bond-Outcome, so this completion makes no key known'

/** The session that the path of a page names. */
export const SESSION_INPUT = {
  input: ({ params }: Asked) => parseId('sess', params['session'] ?? ''),
  target: (sessionId: SessionId) => ({ sessionId }),
}

/** One session, and everything that happened in it. */
export const session = page({
  ...SESSION_INPUT,
  path: '/sessions/:session',
  action: 'session timeline',
  role: 'support',
  title: 'Session',
  read: inspectSession,
  tenants: ({ session: { tenantId } }) => [tenantId],
  missing: (
    id,
  ) => html`<p class="empty">The service does not have this session. It deletes sessions some time after they end, by default 24 hours. What was rejected, and the receipt of an approval, stay longer.</p>
<p class="row"><a class="button quiet" href="/rejections?q=${id}">Search its rejections</a> <a class="button quiet" href="/receipt?session=${id}">Check its receipt</a></p>`,
  draw({ session: found, state, timeline, quorum }, view, id) {
    const { now } = view
    const isOver = hasEnded(state)
    const subjectRef = found.subjectRef ?? found.wantedSubjectRef
    const facts = factsOf([
      ['Session', idOf(id)],
      [
        'State',
        html`${found.bondedAt !== null && badge('approved', 'good')} ${stateOf(state)} ${found.endedReason && html`<code>${found.endedReason}</code>`}`,
      ],
      ['Tenant', tenantOf(found.tenantId, view)],
      ['Workflow and action', html`<code>${found.workflow}</code> <code>${found.action}</code>`],
      ['Created', timeOf(found.createdAt, now)],
      // A session whose approval no backend completed expires too.
      ...(found.bondedAt === null ? [] : [['Approved', timeOf(found.bondedAt, now)] as const]),
      ...(found.completedAt === null ? [] : [['Outcome', found.outcome ?? NO_OUTCOME] as const]),
      isOver ? ['Ended', timeOf(found.endedAt, now)] : ['Expires', timeOf(found.expiresAt, now)],
      ['Device', idOf(found.deviceId, `/devices/${found.deviceId}`)],
      [
        'User, as the tenant knows them',
        idOf(subjectRef, `/user${queryOf(found.tenantId, subjectRef ?? '')}`),
      ],
    ])
    return html`${facts}
<p>${found.bondedAt !== null && html`<a class="button quiet" href="/receipt?session=${id}">Check the receipt</a>`}
${!isOver && actionTo(`/sessions/${id}/end`, { text: 'End this session', role: 'support', view })}</p>
${quorumOf(quorum, id)}
<h2>What happened</h2>
<ol class="timeline">${timeline.map((entry) => drawEntry(entry, view))}</ol>
${context(found.context)}`
  },
})

/** How many people must approve, and the sessions of all of them. */
function quorumOf(all: readonly SessionNow[], id: SessionId): Html | false {
  const { quorumId, context: shown } = all[0]?.session ?? {}
  return (
    quorumId !== undefined &&
    html`<h2>Quorum</h2>
<p>${idOf(quorumId)} ${shown?.quorum && html`${shown.quorum.needed} of ${shown.quorum.of} people must approve.`}</p>
${tableOf(
  ['Session', 'State'],
  all.map(({ session: each, state }) => [
    each.id === id ? 'this one' : idOf(each.id, `/sessions/${each.id}`),
    html`${stateOf(state)} ${each.endedReason && html`<code>${each.endedReason}</code>`}`,
  ]),
  '',
)}`
  )
}

/** The sessions of a user as a tenant knows them, newest first. */
export const sessions = page({
  path: '/sessions',
  query: ['tenant', 'subject_ref', 'after'],
  action: 'session list',
  role: 'support',
  title: 'Sessions of a user',
  input({ query }: Asked) {
    const after = parseId('sess', textIn(query, 'after') ?? '')
    const user = userIn(query)
    return user && { ...user, after }
  },
  target: ({ tenantId, subjectRef }) => ({ tenantId, subjectRef }),
  read: (service, wanted) => listSessions(service, { ...wanted, limit: PAGE_ROWS }),
  draw({ sessions: found, next }, { now }, { tenantId, subjectRef }) {
    const query = queryOf(tenantId, subjectRef)
    return html`<p><a href="/user${query}">User ${subjectRef}</a></p>
${tableOf(
  ['Created', 'Session', 'Workflow and action', 'State'],
  found.map(({ session: { createdAt, id, workflow, action, endedReason }, state }) => [
    timeOf(createdAt, now),
    idOf(id, `/sessions/${id}`),
    html`<code>${workflow}</code> <code>${action}</code>`,
    html`${stateOf(state)} ${endedReason && html`<code>${endedReason}</code>`}`,
  ]),
  next === undefined
    ? 'None. The service deletes sessions some time after they end, by default 24 hours.'
    : 'None in the part that was searched. Search on.',
)}
${next && html`<p><a class="button quiet" href="/sessions${query}&amp;after=${next}">Earlier sessions</a></p>`}`
  },
})

/** A state, whose color says whether the user has approved. */
export function stateOf(state: string): Html {
  const isGood = state === 'bonded' || state === 'completed'
  return badge(state, isGood ? 'good' : state === 'killed' ? 'bad' : 'plain')
}

const LANES = ['Page', 'Service', 'Phone'] as const
type Lane = (typeof LANES)[number]

/** Who acted, by the kind of an entry. The service is behind all others. */
const ACTORS: Readonly<Record<string, readonly Lane[]>> = {
  created: ['Page'],
  completed: ['Page'],
  scanned: ['Phone'],
  evaluating: ['Phone'],
  evidence_issued: ['Phone', 'Service'],
  bonded: ['Phone', 'Service'],
  refused: ['Phone', 'Service'],
  containment: ['Page'],
}

function drawEntry(entry: TimelineEntry, { now, publicOrigin }: View): Html {
  const { kind, at, reason, step, request_id, key_id, key_name } = entry
  const isRefused = kind === 'refused'
  // A key of a backend or a page sent it, where there is one.
  const actors = isRefused && key_id !== null ? ['Page', 'Service'] : (ACTORS[kind] ?? ['Service'])
  const lanes = LANES.map(
    (lane) => html`<span${actors.includes(lane) && html` class="on"`}>${lane}<b></b></span>`,
  )
  return html`<li${isRefused && html` class="refused"`}>${timeOf(at, now)}
<div class="lanes" aria-label="${actors.join(' and ')}">${lanes}</div>
<div><strong>${isRefused ? badge('rejected', 'bad') : kind.replaceAll('_', ' ')}</strong>
${isRefused || step !== null ? whyOf({ reason, step, publicOrigin }) : reason && html`<code>${reason}</code>`}
${request_id && html`<p class="hint">Reference ${idOf(request_id)}</p>`}
${key_id && html`<p class="hint">Key ${stored(key_name ?? key_id)}</p>`}</div></li>`
}

/** What the phone shows. */
export function context(
  shown: {
    readonly display?: readonly { readonly label: string; readonly value: string }[] | undefined
    readonly requester?: { readonly kind: string; readonly name: string; readonly detail?: string }
    readonly text?: string
  } | null,
): Html | false {
  if (shown === null) return false
  const { display = [], requester, text } = shown
  const facts = [
    ...(requester === undefined
      ? []
      : [
          [
            `Requester (${requester.kind})`,
            stored([requester.name, requester.detail].filter(Boolean).join(', ')),
          ] as const,
        ]),
    ...display.map(({ label, value }) => [html`<bdi>${label}</bdi>`, stored(value)] as const),
  ]
  return html`<h2>What the phone showed</h2>
${facts.length > 0 && factsOf(facts)}
${text !== undefined && linesOf(text)}`
}
