import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'
import { IMMUTABLE } from './static-file.ts'

export const LOGO_PATH = '/v1/logos/{name}'
const NAME = /^[0-9A-Za-z]{22}\.png$/

/** Serves the logos of tenants, which are PNG files. */
export function serveLogos(app: FastifyInstance, service: Service): void {
  app.get<{ Params: { name: string } }>(
    LOGO_PATH.replace('{name}', ':name'),
    limitPage(service, 'logo'),
    async ({ params: { name } }, reply) => {
      const bytes =
        NAME.test(name) && (await service.store.read((tables) => tables.tenants.findLogo(name)))
      if (!bytes) throw new Rejected({ reason: 'page_not_found' })
      return reply
        .type('image/png')
        .header('cache-control', IMMUTABLE)
        .header('content-security-policy', "default-src 'none'; sandbox")
        .send(Buffer.from(bytes))
    },
  )
}
