import { CONSEQUENCES } from '@bonded/cli/program/consequences'
import { parseId, PATH_TEXTS, type SubjectId } from '@bonded/contract'
import type { AuditTarget } from '@bonded/core/domain/audit'
import type { Device } from '@bonded/core/domain/session'
import {
  changeSubject,
  findSubjectId,
  inspectSubject,
  resumeInboxes,
  type SubjectRecord,
} from '@bonded/core/operations/admin/subjects'
import type { SubjectReference } from '@bonded/core/ports/tables/subject-table'
import { foundIn, queryOf, textIn, userIn } from '../fields.ts'
import { type Html, html, type Part } from '../html.ts'
import { actionTo, badge, factsOf, idOf, tableOf, tenantOf, timeOf } from '../layout.ts'
import { action, type Asked, page, type View } from '../page.ts'
import { statusOf } from './device.ts'

/** One user: the devices, the blocks, and the tenants that know the user. */
export const user = page({
  path: '/user',
  query: ['subject', 'tenant', 'subject_ref'],
  action: 'subject show',
  role: 'support',
  title: 'User',
  input: namedIn,
  target: (named: AuditTarget) => named,
  read: async (service, named) => inspectSubject(service, await findSubjectId(service, named)),
  tenants: ({ references }) => references.map(({ tenantId }) => tenantId),
  missing: () =>
    html`<p class="empty">The service knows no user by this. A session names its user once a phone has opened it. Copy it whole, or search in <a href="/rejections">the rejected requests</a>.</p>`,
  draw(found, view) {
    const { subjectId, blockedAt, keys, references } = found
    const { now } = view
    const verb = blockedAt === undefined ? 'block' : 'unblock'
    const text = blockedAt === undefined ? 'Block this user' : 'Unblock this user'
    return html`${userFacts(found, now)}
<p class="row">${actionTo(`/users/${subjectId}/${verb}`, { text, role: 'support', view })}
<a class="button quiet" href="/changes?about=${subjectId}">What operators did about this user</a></p>
<h2>Devices</h2>
${tableOf(
  ['Device', 'Status', 'Kind of key', 'Registered', 'Latest assertion', 'Added by'],
  keys.map((device) => deviceRow(device, now)),
  'None. All of them were removed.',
)}
<p class="hint">Removed devices are not listed. The sessions that they approved lead to them.</p>
<h2>Tenants that know the user</h2>
${tableOf(
  ['Tenant', 'subject_ref', 'Block by the tenant', 'Inbox', 'What happened'],
  references.map((reference) => tenantRow(reference, view)),
  'None. No tenant has a bond with this user.',
)}`
  },
})

function userFacts({ subjectId, blockedAt }: SubjectRecord, now: number): Html {
  return factsOf([
    ['Subject', idOf(subjectId)],
    ['Block by an operator', blockOf(blockedAt, now)],
  ])
}

/** A user by what an operator has: an id of a session, a device, or the user, or a subject_ref. */
function namedIn({ query }: Asked): AuditTarget | undefined {
  const text = textIn(query, 'subject') ?? ''
  const target = {
    subjectId: parseId('sub', text),
    deviceId: parseId('dev', text),
    sessionId: parseId('sess', text),
    subjectRef: PATH_TEXTS.subject_ref.test(text) ? text : undefined,
  }
  return Object.values(target).some((id) => id !== undefined) ? target : userIn(query)
}

function deviceRow(device: Device, now: number): readonly Part[] {
  const { id, format, createdAt, lastIssuedAt, addedBy } = device
  return [
    idOf(id, `/devices/${id}`),
    statusOf(device),
    html`<code>${format}</code>`,
    timeOf(createdAt, now),
    timeOf(lastIssuedAt, now),
    idOf(addedBy, `/devices/${addedBy}`),
  ]
}

function tenantRow(reference: SubjectReference, view: View): readonly Part[] {
  const { tenantId, subjectId, subjectRef, blockedAt, inboxPausedUntil } = reference
  const isPaused = inboxPausedUntil > view.now
  const resume = `/users/${subjectId}/resume-inbox/${tenantId}`
  return [
    tenantOf(tenantId, view),
    idOf(subjectRef),
    blockOf(blockedAt, view.now),
    html`${pauseOf(reference, view.now)} ${isPaused && actionTo(resume, { text: 'Resume', role: 'support', view })}`,
    html`<a href="/sessions${queryOf(tenantId, subjectRef)}">Sessions</a> <a href="/rejections?q=${encodeURIComponent(subjectRef)}">Rejections</a>`,
  ]
}

function blockOf(at: number | undefined, now: number): Html {
  return at === undefined ? html`none` : html`${badge('blocked', 'bad')} ${timeOf(at, now)}`
}

/** Whether the user keeps requests of a tenant out of the inbox. */
function pauseOf({ inboxPausedUntil: until, inboxReports }: SubjectReference, now: number): Html {
  return html`${until > now ? html`${badge('paused', 'bad')} until ${timeOf(until, now)}` : 'open'}${
    inboxReports > 0 && html`<p class="hint">Reports of the user: ${inboxReports}</p>`
  }`
}

const userAction = (verb: 'block' | 'unblock', word: string) =>
  action({
    path: `/users/:subject/${verb}`,
    action: 'subject show',
    changes: `subject ${verb}`,
    role: 'support',
    title: `${word} this user?`,
    verb: `${word} the user`,
    input: ({ params }: Asked) => parseId('sub', params['subject'] ?? ''),
    target: (subjectId: SubjectId) => ({ subjectId }),
    read: inspectSubject,
    draw: (found, { now }) =>
      html`${userFacts(found, now)}<p>${CONSEQUENCES[`subject ${verb}`]}</p>`,
    run: (service, id) => changeSubject(service, id, verb),
    next: (id) => `/user?subject=${id}`,
  })

/** For all tenants. A tenant blocks its own users itself. */
export const blockUser = userAction('block', 'Block')
export const unblockUser = userAction('unblock', 'Unblock')

/** Ends the pause of one tenant, which a report of the user began. */
export const resumeInbox = action({
  path: '/users/:subject/resume-inbox/:tenant',
  action: 'subject show',
  changes: 'subject resume-inbox',
  role: 'support',
  title: 'Resume this inbox?',
  verb: 'Resume the inbox',
  input({ params }: Asked) {
    const subjectId = parseId('sub', params['subject'] ?? '')
    const tenantId = parseId('ten', params['tenant'] ?? '')
    return subjectId && tenantId && { subjectId, tenantId }
  },
  target: (named) => named,
  async read(service, { subjectId, tenantId }) {
    const { references } = await inspectSubject(service, subjectId)
    return foundIn(references, (each) => each.tenantId === tenantId, 'tenant')
  },
  tenants: ({ tenantId }) => [tenantId],
  draw: (reference, view) => html`${factsOf([
    ['Tenant', tenantOf(reference.tenantId, view)],
    ['User, as the tenant knows them', idOf(reference.subjectRef)],
    ['Inbox', pauseOf(reference, view.now)],
  ])}
<p>${CONSEQUENCES['subject resume-inbox']}</p>`,
  run: (service, { subjectId, tenantId }) => resumeInboxes(service, subjectId, tenantId),
  next: ({ subjectId }) => `/user?subject=${subjectId}`,
})
