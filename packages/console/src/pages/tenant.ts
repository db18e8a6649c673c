import { parseId, type TenantId } from '@bonded/contract'
import { describeKey } from '@bonded/cli/describe-tenant'
import { writeTenant } from '@bonded/cli/tenant-document'
import { isRevoked } from '@bonded/core/domain/tenant'
import { listKeys } from '@bonded/core/operations/admin/keys'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import { stringify } from 'yaml'
import { html } from '../html.ts'
import { badge, factsOf, idOf, stored, tableOf, timeOf } from '../layout.ts'
import { page } from '../page.ts'

/** A tenant as `bonded apply` takes it, and its keys. */
export const tenant = page({
  path: '/tenants/:tenant',
  action: 'tenant show',
  role: 'viewer',
  title: 'Tenant',
  input: ({ params }) => parseId('ten', params['tenant'] ?? ''),
  target: (tenantId: TenantId) => ({ tenantId }),
  read: async (service, id) => ({
    found: await findTenant(service, id),
    keys: await listKeys(service, id),
  }),
  draw({ found, keys }, { now, publicOrigin }, id) {
    const rows = keys.map((listing) => {
      const { kind, key, name } = describeKey(listing)
      return [
        kind,
        idOf(key),
        stored(name),
        timeOf(listing.createdAt, now),
        timeOf(listing.lastUsedAt, now),
        isRevoked(listing, now) ? badge('revoked', 'bad') : badge('works', 'good'),
      ]
    })
    const written = writeTenant(found, { keys, publicOrigin, now })
    return html`${factsOf([
      ['Name', stored(found.name)],
      ['Id', idOf(id)],
      ['Environment', found.environment],
      [
        'State',
        found.suspendedAt === undefined
          ? badge('active', 'good')
          : html`${badge('suspended', 'bad')} ${timeOf(found.suspendedAt, now)}`,
      ],
    ])}
<h2>Keys</h2>
${tableOf(['Kind', 'Key', 'Name', 'Created', 'Last used', 'State'], rows, 'No keys. Issue one with bonded key issue.')}
<h2>Document</h2>
<p class="hint">Change it in the file that you apply. This page only shows it.</p>
<pre>${stringify({ tenants: [written] })
      .split('\n')
      .map((line) => html`<bdi>${line}</bdi>\n`)}</pre>`
  },
})
