import type { FastifyInstance } from 'fastify'
import { hasBrowserWorkflow } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'

/** A list serves all callers this long, so that strangers cause few reads of the tenants. */
const LIST_SERVES_MS = 10_000
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
  let list: { readonly readAt: number; readonly origins: Promise<string[]> } | undefined
  const currentOrigins = (): Promise<string[]> => {
    const now = service.clock.now()
    if (list !== undefined && now - list.readAt < LIST_SERVES_MS) return list.origins
    const origins = originsThatNeedPasskeys(service)
    list = { readAt: now, origins }
    // A failed read serves only the callers that waited for it.
    origins.catch(() => (list = undefined))
    return origins
  }
  app.get(RELATED_ORIGINS_PATH, limitPage(service, 'app_links'), async (_request, reply) => {
    if (service.settings.relatedOrigins !== true) throw new Rejected({ reason: 'page_not_found' })
    const origins = await currentOrigins()
    return reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(JSON.stringify({ origins }))
  })
}

async function originsThatNeedPasskeys({ store }: Service): Promise<string[]> {
  const tenants = await store.read((tables) => tables.tenants.list())
  const origins = tenants.filter(hasBrowserWorkflow).flatMap((tenant) => tenant.origins)
  return [...new Set(origins)].toSorted()
}
