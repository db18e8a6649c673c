import { ENDPOINTS } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { checkReadiness } from '@bonded/core/operations/maintenance/check-readiness'
import { openApiDocument } from '../openapi.ts'
import { iso } from '@bonded/core/domain/iso'
import { serve } from '../serve.ts'
import { serveStatic } from './static-response.ts'

export const readOpenApiRoute = serveStatic(ENDPOINTS.readOpenApi, ({ settings }) =>
  openApiDocument({ origin: settings.publicOrigin, version: settings.version }),
)

export const aliveRoute = serveStatic(ENDPOINTS.alive, () => ({ status: 'alive', reasons: [] }))

export const readyRoute = serve(ENDPOINTS.ready, async ({ service }) => {
  const unready = await checkReadiness(service)
  return unready.length === 0
    ? accept(['health', { status: 'ready', reasons: [] }])
    : reject('not_ready', { unready })
})

export const versionRoute = serve(ENDPOINTS.version, ({ service }) =>
  accept([
    'version',
    { version: service.settings.version, api: 'v1', server_time: iso(service.clock.now()) },
  ]),
)
