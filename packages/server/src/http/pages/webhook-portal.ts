import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { type FramedPage, serveFramedPage } from './framed-page.ts'

const PATH = '/webhooks'
export const PORTAL_PATH = `${PATH}/{tenant_id}`

/** Returns the link to a tenant's portal. The token is in the fragment, which is never sent. */
export function portalUrl(origin: string, tenantId: string, token: string): string {
  return `${origin}${PATH}/${tenantId}#${token}`
}

/**
 * Serves the portal, in which a tenant sees its webhook deliveries. The document holds nothing of
 * the tenant: the script reads everything with the token of its link.
 */
export function serveWebhookPortal(
  app: FastifyInstance,
  { service, load }: { readonly service: Service; readonly load: FramedPage['load'] },
): void {
  serveFramedPage(app, service, {
    routeName: 'portal',
    path: PORTAL_PATH,
    scriptPath: `${PATH}/script/:hash`,
    title: 'Webhook deliveries',
    load,
    hasPage: () => true,
    headers: {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    },
  })
}
