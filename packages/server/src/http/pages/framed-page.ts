import { parseId } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import type { RouteName } from '@bonded/core/ports/meter'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'
import {
  buildOnce,
  type StaticFile,
  sendHashedFile,
  sendStaticFile,
  staticFile,
} from './static-file.ts'

/** The script and the style of a document, as `@bonded/phone-page` builds them. */
export interface DocumentFiles {
  readonly script: string
  /** `sha384-…` of the script. */
  readonly scriptIntegrity: string
  /** Hexadecimal hash of the script, used in its URL. */
  readonly scriptHash: string
  readonly style: string
  /** `sha256-…` of the style. */
  readonly styleHash: string
}

/** A document of the service that the pages of a tenant may frame. */
export interface FramedPage {
  readonly routeName: RouteName
  /** The path with `{tenant_id}`. */
  readonly path: string
  /** The path with `:hash`. */
  readonly scriptPath: string
  readonly title: string
  /** What the document says until its script has drawn. */
  readonly unloaded?: string
  readonly load: () => Promise<DocumentFiles>
  /** Tenants without the page read like unknown ones. */
  readonly hasPage: (tenant: Tenant) => boolean
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Serves a document that is the same for all tenants. Each tenant has its own path, which only its
 * own origins may frame.
 */
export function serveFramedPage(app: FastifyInstance, service: Service, page: FramedPage): void {
  const { routeName, path, scriptPath, load, hasPage, headers } = page
  const files = buildOnce(async () => assemble(await load(), page))

  app.get<{ Params: { tenant_id: string } }>(
    path.replace('{tenant_id}', ':tenant_id'),
    limitPage(service, routeName),
    async (request, reply) => {
      const id = parseId('ten', request.params.tenant_id)
      const tenant = id && (await service.store.read((tables) => tables.tenants.find(id)))
      if (tenant === undefined || !hasPage(tenant)) throw new Rejected({ reason: 'page_not_found' })
      const { html, contentSecurityPolicy } = await files()
      const ancestors = tenant.origins.join(' ') || "'none'"
      reply
        .headers(headers)
        .header('content-security-policy', `${contentSecurityPolicy}; frame-ancestors ${ancestors}`)
      return sendStaticFile(request, reply, { file: html, cacheControl: 'no-cache' })
    },
  )
  app.get(scriptPath, limitPage(service, routeName), async (request, reply) => {
    const { script, scriptName } = await files()
    return sendHashedFile(request, reply, { file: script, hash: scriptName })
  })
}

interface ServedPage {
  readonly html: StaticFile
  readonly script: StaticFile
  readonly scriptName: string
  readonly contentSecurityPolicy: string
}

async function assemble(
  { script, scriptHash, scriptIntegrity, style, styleHash }: DocumentFiles,
  { title, scriptPath, unloaded = '' }: FramedPage,
): Promise<ServedPage> {
  const scriptName = `${scriptHash}.js`
  return {
    script: await staticFile(script, 'text/javascript; charset=utf-8'),
    scriptName,
    contentSecurityPolicy: [
      "default-src 'none'",
      "script-src 'self'",
      `style-src '${styleHash}'`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),
    html: await staticFile(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="google" content="notranslate">
<meta name="color-scheme" content="light dark">
<title translate="no">${title}</title>
<style>${style}</style>
<script defer src="${scriptPath.replace(':hash', scriptName)}" integrity="${scriptIntegrity}" crossorigin="anonymous"></script>
</head>
<body><main>${unloaded}</main></body>
</html>
`,
      'text/html; charset=utf-8',
    ),
  }
}
