import { CONSEQUENCES } from '@bonded/cli/program/consequences'
import { parseId, type TenantId } from '@bonded/contract'
import { describeKey } from '@bonded/cli/tenant/describe-tenant'
import { writeTenant } from '@bonded/cli/tenant/tenant-document'
import { isRevoked, type Tenant } from '@bonded/core/domain/tenant'
import { listKeys, revokeKey } from '@bonded/core/operations/admin/keys'
import { resumeTenant, suspendTenant } from '@bonded/core/operations/admin/suspend-tenant'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import { stringify } from 'yaml'
import { foundIn } from '../fields.ts'
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
import { action, type Asked, page } from '../page.ts'
import { includes } from '../roles.ts'

const TENANT_INPUT = {
  input: ({ params }: Asked) => parseId('ten', params['tenant'] ?? ''),
  target: (tenantId: TenantId) => ({ tenantId }),
}

/** A tenant as `bonded apply` takes it, and its keys. */
export const tenant = page({
  ...TENANT_INPUT,
  path: '/tenants/:tenant',
  action: 'tenant show',
  role: 'viewer',
  title: 'Tenant',
  read: async (service, id) => ({
    found: await findTenant(service, id),
    keys: await listKeys(service, id),
  }),
  draw({ found, keys }, view, id) {
    const { now, publicOrigin } = view
    const to = (path: string, text: string) =>
      actionTo(`/tenants/${id}/${path}`, { text, role: 'admin', view })
    const rows = keys.map((listing) => {
      const { kind, key, name } = describeKey(listing)
      return [
        kind,
        idOf(key),
        stored(name),
        timeOf(listing.createdAt, now),
        timeOf(listing.lastUsedAt, now),
        isRevoked(listing, now)
          ? badge('revoked', 'bad')
          : html`<div class="row">${badge('works', 'good')} ${to(`keys/${key}/revoke`, 'Revoke')}</div>`,
      ]
    })
    const written = writeTenant(found, { keys, publicOrigin, now })
    const isActive = found.suspendedAt === undefined
    return html`${tenantFacts(found, now)}
<p class="row"><a class="button quiet" href="/health?tenant=${id}">Health of its flow</a> <a class="button quiet" href="/changes?about=${id}">What changed</a>
${includes(view.session.role, 'support') && html`<a class="button quiet" href="/tenants/${id}/deliveries">Deliveries to its webhooks</a>`}
${isActive ? to('suspend', 'Suspend this tenant') : to('resume', 'Resume this tenant')}</p>
<h2>Keys</h2>
${tableOf(['Kind', 'Key', 'Name', 'Created', 'Last used', 'State'], rows, 'No keys. Issue one with bonded key issue.')}
<h2>Document</h2>
<p class="hint">Change it in the file that you apply. This page only shows it.</p>
${linesOf(stringify({ tenants: [written] }))}`
  },
})

function tenantFacts({ id, name, environment, suspendedAt }: Tenant, now: number): Html {
  return factsOf([
    ['Name', stored(name)],
    ['Id', idOf(id)],
    ['Environment', environment],
    [
      'State',
      suspendedAt === undefined
        ? badge('active', 'good')
        : html`${badge('suspended', 'bad')} ${timeOf(suspendedAt, now)}`,
    ],
  ])
}

const tenantAction = (
  verb: 'suspend' | 'resume',
  { word, run }: { word: string; run: typeof suspendTenant },
) =>
  action({
    ...TENANT_INPUT,
    path: `/tenants/:tenant/${verb}`,
    action: 'tenant show',
    changes: `tenant ${verb}`,
    role: 'admin',
    title: `${word} this tenant?`,
    verb: `${word} the tenant`,
    read: findTenant,
    draw: (found, { now }) =>
      html`${tenantFacts(found, now)}<p>${CONSEQUENCES[`tenant ${verb}`]}</p>`,
    run,
    next: (id) => `/tenants/${id}`,
  })

export const suspend = tenantAction('suspend', { word: 'Suspend', run: suspendTenant })
export const resume = tenantAction('resume', { word: 'Resume', run: resumeTenant })

/** The id of a server credential, or a publishable key. */
const KEY = /^(?:[0-9A-Za-z]{10}|pk_beta_[0-9A-Za-z_]{1,64})$/

export const revoke = action({
  path: '/tenants/:tenant/keys/:key/revoke',
  action: 'key list',
  changes: 'key revoke',
  role: 'admin',
  title: 'Revoke this key?',
  verb: 'Revoke the key',
  input({ params }: Asked) {
    const tenantId = parseId('ten', params['tenant'] ?? '')
    const key = params['key'] ?? ''
    return tenantId && KEY.test(key) ? { tenantId, key } : undefined
  },
  target: (named) => named,
  read: async (service, { tenantId, key }) =>
    foundIn(await listKeys(service, tenantId), (each) => each.key === key, 'key'),
  tenants: (_key, { tenantId }) => [tenantId],
  draw: ({ kind, key, name, lastUsedAt }, view, { tenantId }) => html`${factsOf([
    ['Key', idOf(key)],
    ['Kind', kind],
    ['Name', stored(name)],
    ['Tenant', tenantOf(tenantId, view)],
    ['Last used', timeOf(lastUsedAt, view.now)],
  ])}
<p>The service rejects this key at once. ${kind === 'server' ? 'A backend of the tenant' : 'A page of the tenant'} that still uses it fails. You cannot undo this. To replace a key without an interruption, run <code>bonded key roll</code> instead.</p>`,
  run: (service, { key }) => revokeKey(service, key),
  next: ({ tenantId }) => `/tenants/${tenantId}`,
})
