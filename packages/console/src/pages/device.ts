import { CONSEQUENCES } from '@bonded/cli/program/consequences'
import { type DeviceId, parseId } from '@bonded/contract'
import type { Device } from '@bonded/core/domain/session'
import { inspectDevice, moveDevice } from '@bonded/core/operations/admin/devices'
import { type Html, html } from '../html.ts'
import { actionTo, badge, factsOf, idOf, tableOf, tenantOf, timeOf } from '../layout.ts'
import { action, type Asked, page } from '../page.ts'

const DEVICE_INPUT = {
  input: ({ params }: Asked) => parseId('dev', params['device'] ?? ''),
  target: (deviceId: DeviceId) => ({ deviceId }),
}

/** One device, its live sessions, and everything that happened to it. */
export const device = page({
  ...DEVICE_INPUT,
  path: '/devices/:device',
  action: 'device timeline',
  role: 'support',
  title: 'Device',
  read: inspectDevice,
  tenants: ({ holds }) => holds.map(({ tenantId }) => tenantId),
  draw({ device: found, holds, events }, view, id) {
    const { status } = found
    const { now } = view
    const mayBlock = status === 'active' || status === 'suspect'
    const mayUnblock = status === 'blocked' || status === 'suspect'
    const to = (verb: string, text: string) =>
      actionTo(`/devices/${id}/${verb}`, { text, role: 'support', view })
    return html`${deviceFacts(found, now)}
<p>${mayBlock && to('block', 'Block this device')} ${mayUnblock && to('unblock', 'Unblock this device')}</p>
<h2>Live sessions</h2>
${tableOf(
  ['Session', 'Created', 'Tenant'],
  holds.map(({ id: session, createdAt, tenantId }) => [
    idOf(session, `/sessions/${session}`),
    timeOf(createdAt, now),
    tenantOf(tenantId, view),
  ]),
  'None.',
)}
<h2>What happened</h2>
${tableOf(
  ['Time', 'What', 'Caused by', 'Reference'],
  events.map(({ at, kind, step, requestId }) => [
    timeOf(at, now),
    kind.replaceAll('_', ' '),
    step,
    idOf(requestId),
  ]),
  'Nothing.',
)}
<p><a class="button quiet" href="/changes?about=${id}">Who did it, and why: what operators did about this user</a></p>`
  },
})

function deviceFacts(found: Device, now: number): Html {
  const { id, subjectId, format, environment, appId, createdAt, lastIssuedAt, addedBy } = found
  return factsOf([
    ['Device', idOf(id)],
    ['Status', statusOf(found)],
    ['User', idOf(subjectId, `/user?subject=${subjectId}`)],
    ['Kind of key', html`<code>${format}</code>, ${environment}`],
    ['App', idOf(appId)],
    ['Registered', timeOf(createdAt, now)],
    ['Latest assertion', timeOf(lastIssuedAt, now)],
    ['Added by', idOf(addedBy, `/devices/${addedBy}`)],
  ])
}

const deviceAction = (verb: 'block' | 'unblock', word: string) =>
  action({
    ...DEVICE_INPUT,
    path: `/devices/:device/${verb}`,
    action: 'device show',
    changes: `device ${verb}`,
    role: 'support',
    title: `${word} this device?`,
    verb: `${word} the device`,
    read: inspectDevice,
    draw: ({ device: found }, { now }) =>
      html`${deviceFacts(found, now)}<p>${CONSEQUENCES[`device ${verb}`]}</p>`,
    run: (service, id) => moveDevice(service, id, verb),
    next: (id) => `/devices/${id}`,
  })

export const blockDevice = deviceAction('block', 'Block')
export const unblockDevice = deviceAction('unblock', 'Unblock')

/** The status of a device, whose color says whether it can approve. */
export function statusOf({ status, subjectBlocked }: Device): Html {
  const tone = status === 'active' ? 'good' : status === 'removed' ? 'plain' : 'bad'
  return html`${badge(status, tone)} ${subjectBlocked === true && badge('user blocked', 'bad')}`
}
