import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'

/** Where a browser reads which other origins may use the passkeys of this relying party id. */
export const RELATED_ORIGINS_PATH = '/.well-known/webauthn'

/**
 * Serves the origins whose pages may use the service's passkeys: those of the tenants with a
 * workflow that requires the browser. Only where all tenants are one organization, because such a
 * page can also hide a user's passkey in the browser.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-related-origins
 */
export function serveRelatedOrigins(app: FastifyInstance, service: Service): void {
  app.get(RELATED_ORIGINS_PATH, limitPage(service, 'app_links'), async (_request, reply) => {
    if (service.settings.relatedOrigins !== true) throw new Rejected({ reason: 'page_not_found' })
    const tenants = await service.store.read((tables) => tables.tenants.list())
    const origins = tenants
      .filter(({ workflows }) => workflows.some(({ require }) => require?.includes('browser')))
      .flatMap((tenant) => tenant.origins)
    return reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(JSON.stringify({ origins: [...new Set(origins)].toSorted() }))
  })
}
