import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'
import { IMMUTABLE } from './static-file.ts'

export const LOGO_PATH = '/v1/logos/{name}'
const NAME = /^[0-9A-Za-z]{22}\.(?<type>png|svg)$/
const TYPES: Readonly<Record<string, string>> = { png: 'image/png', svg: 'image/svg+xml' }

/**
 * Serves the logos of tenants: PNG files, and the SVG files of earlier versions until they are
 * replaced. An SVG that a user opens by its address runs no script and loads nothing; as an image
 * in a page, it never does.
 */
export function serveLogos(app: FastifyInstance, service: Service): void {
  app.get<{ Params: { name: string } }>(
    LOGO_PATH.replace('{name}', ':name'),
    limitPage(service, 'logo'),
    async ({ params: { name } }, reply) => {
      const type = NAME.exec(name)?.groups?.['type']
      const bytes = type && (await service.store.read((tables) => tables.tenants.findLogo(name)))
      if (!type || !bytes) throw new Rejected({ reason: 'page_not_found' })
      return reply
        .type(TYPES[type]!)
        .header('cache-control', IMMUTABLE)
        .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        .send(Buffer.from(bytes))
    },
  )
}
