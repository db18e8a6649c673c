import { parseId } from '@bonded/contract'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hasBrowserWorkflow } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { browserFramePath } from '../response/present.ts'
import { Rejected } from '../response/rejected.ts'
import { type StaticFile, sendStaticFile, staticFile } from './static-file.ts'

/** The files of the frame, as `@bonded/phone-page` builds them. */
export interface BrowserFrameFiles {
  readonly script: string
  /** `sha384-…` of the script. */
  readonly scriptIntegrity: string
  /** Hexadecimal hash of the script, used in its URL. */
  readonly scriptHash: string
  readonly style: string
  /** `sha256-…` of the style. */
  readonly styleHash: string
}

export const FRAME_PATH = browserFramePath('{tenant_id}')
const SCRIPT_PATH = '/frame/script/:hash'
const IMMUTABLE = 'public, max-age=31536000, immutable'

/**
 * Serves the service's frame, in which a tenant's page lets its browser prove itself. Each tenant
 * has its own path, which only its own origins may frame. The document is the same for all, and
 * holds nothing of a session. A tenant without a workflow that requires the browser has none.
 */
export function serveBrowserFrame(
  app: FastifyInstance,
  { service, load }: { readonly service: Service; readonly load: () => Promise<BrowserFrameFiles> },
): void {
  let served: Promise<ServedFrame> | undefined
  const frame = () =>
    (served ??= load()
      .then(assemble)
      .catch((failure: unknown) => {
        served = undefined
        throw failure
      }))

  app.get<{ Params: { tenant_id: string } }>(
    FRAME_PATH.replace('{tenant_id}', ':tenant_id'),
    limitPage(service, 'frame'),
    async (request, reply) => {
      const origins = await framingOrigins(service, request.params.tenant_id)
      if (origins === undefined) throw new Rejected({ reason: 'page_not_found' })
      const { html, contentSecurityPolicy } = await frame()
      setFrameHeaders(reply, `${contentSecurityPolicy}; frame-ancestors ${origins}`)
      return sendStaticFile(request, reply, { file: html, cacheControl: 'no-cache' })
    },
  )
  app.get<{ Params: { hash: string } }>(
    SCRIPT_PATH,
    limitPage(service, 'frame'),
    async (request, reply) => {
      const { script, scriptName } = await frame()
      // A new script at an old URL would fail the integrity check of cached documents for a year.
      if (request.params.hash !== scriptName) throw new Rejected({ reason: 'page_not_found' })
      return sendStaticFile(request, reply, { file: script, cacheControl: IMMUTABLE })
    },
  )
}

/** The origins that may frame a tenant's path, as `frame-ancestors` lists them. */
async function framingOrigins({ store }: Service, tenantId: string): Promise<string | undefined> {
  const id = parseId('ten', tenantId)
  const tenant = id && (await store.read((tables) => tables.tenants.find(id)))
  return tenant !== undefined && hasBrowserWorkflow(tenant)
    ? tenant.origins.join(' ') || "'none'"
    : undefined
}

function setFrameHeaders(reply: FastifyReply, contentSecurityPolicy: string): void {
  reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('permissions-policy', 'publickey-credentials-get=(self)')
    // Popups ignore frame-ancestors. The opener of one cannot send it messages.
    .header('cross-origin-opener-policy', 'same-origin')
    // Pages that require this of themselves require it of their frames too.
    .header('cross-origin-embedder-policy', 'require-corp')
}

interface ServedFrame {
  readonly html: StaticFile
  readonly script: StaticFile
  readonly scriptName: string
  readonly contentSecurityPolicy: string
}

async function assemble(files: BrowserFrameFiles): Promise<ServedFrame> {
  const { script, scriptHash, scriptIntegrity, style, styleHash } = files
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
<meta name="color-scheme" content="light dark">
<title>Confirm in this browser</title>
<style>${style}</style>
<script defer src="${SCRIPT_PATH.replace(':hash', scriptName)}" integrity="${scriptIntegrity}" crossorigin="anonymous"></script>
</head>
<body><main></main></body>
</html>
`,
      'text/html; charset=utf-8',
    ),
  }
}
