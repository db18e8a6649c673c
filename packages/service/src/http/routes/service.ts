import { ENDPOINTS } from '@bonded/contract'
import { accept, refuse } from '../../domain/refusal.ts'
import { checkReadiness } from '../../operations/check-readiness.ts'
import { openApiDocument } from '../openapi.ts'
import { iso } from '../../domain/iso.ts'
import { serve } from '../serve.ts'

export const readOpenApiRoute = serve(ENDPOINTS.readOpenApi, ({ service }) =>
  accept([
    'document',
    openApiDocument({
      origin: service.settings.publicOrigin,
      version: service.settings.version,
    }) as never,
  ]),
)

export const aliveRoute = serve(ENDPOINTS.alive, () =>
  accept(['health', { status: 'alive', reasons: [] }]),
)

export const readyRoute = serve(ENDPOINTS.ready, async ({ service }) => {
  const unready = await checkReadiness(service)
  return unready.length === 0
    ? accept(['health', { status: 'ready', reasons: [] }])
    : refuse('not_ready', { unready })
})

export const versionRoute = serve(ENDPOINTS.version, ({ service }) =>
  accept([
    'version',
    { version: service.settings.version, api: 'v1', server_time: iso(service.clock.now()) },
  ]),
)
