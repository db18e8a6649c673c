import type { FastifyInstance } from 'fastify'
import { hasBrowserWorkflow } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import { browserFramePath } from '../response/present.ts'
import { type FramedPage, serveFramedPage } from './framed-page.ts'

export const FRAME_PATH = browserFramePath('{tenant_id}')

/**
 * Serves the service's frame, in which a tenant's page lets its browser prove itself. It holds
 * nothing of a session. A tenant without a workflow that requires the browser has none.
 */
export function serveBrowserFrame(
  app: FastifyInstance,
  { service, load }: { readonly service: Service; readonly load: FramedPage['load'] },
): void {
  serveFramedPage(app, service, {
    routeName: 'frame',
    path: FRAME_PATH,
    scriptPath: '/frame/script/:hash',
    title: 'Confirm in this browser',
    load,
    hasPage: hasBrowserWorkflow,
    headers: {
      'permissions-policy': 'publickey-credentials-get=(self)',
      // Popups ignore frame-ancestors. The opener of one cannot send it messages.
      'cross-origin-opener-policy': 'same-origin',
      // Pages that require this of themselves require it of their frames too.
      'cross-origin-embedder-policy': 'require-corp',
    },
  })
}
