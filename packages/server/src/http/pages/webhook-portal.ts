import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { type FramedPage, serveFramedPage } from './framed-page.ts'

const PATH = '/webhooks'
const PORTAL_PATH = `${PATH}/{tenant_id}`

/** The path of a tenant's portal. It is not found where the service has no such tenant. */
export function portalPath(tenantId: string): string {
  return `${PATH}/${tenantId}`
}

/** Returns the link to a tenant's portal. The token is in the fragment, which is never sent. */
export function portalUrl(origin: string, tenantId: string, token: string): string {
  return `${origin}${portalPath(tenantId)}#${token}`
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
    // A link would lose the token, which is in the fragment of the address.
    unloaded:
      '<p class="unloaded">This page has not loaded yet. Check your connection, then load it again.</p>',
    load,
    hasPage: () => true,
    headers: {
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    },
  })
}
