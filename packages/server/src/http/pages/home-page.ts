import { Buffer } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { DOCUMENT_SECURITY_POLICY, documentPage, ICON_PATH } from './document-page.ts'
import { limitPage } from './page-limits.ts'
import { PHONE_PAGE_PATH } from './phone-page.ts'
import { buildOnce, sendStaticFile, staticFile } from './static-file.ts'

/** A day: a page of the service may look at it often, and it hardly changes. */
const ICON_CACHE = 'public, max-age=86400'

/** Two joined rings. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="#0b57d0"/><g fill="none" stroke="#fff" stroke-width="4.5"><circle cx="18.5" cy="24" r="8.75"/><circle cx="29.5" cy="24" r="8.75"/></g></svg>'

const HTML = documentPage(
  'Bonded Sessions',
  `<p class="lead">With this service, organizations ask you to approve an important action on your phone before they carry it out.</p>
<h2>If an organization sent you here</h2>
<p>Return to its page and scan the QR code with your phone. Nothing is approved unless you approve it there.</p>
<h2>If you have approved with this phone</h2>
<p><a href="${PHONE_PAGE_PATH}">Your phones</a> lists the phones that approve as you, and removes them.</p>
<h2>If you operate this service</h2>
<p>It is running. <a href="/health/ready">/health/ready</a> says whether it accepts requests, and <code>bonded doctor</code> checks it from outside.</p>`,
)

/** Serves the root, for people who open the host itself, and the icon of all documents. */
export function serveHomePage(app: FastifyInstance, service: Service): void {
  const page = buildOnce(() => staticFile(HTML, 'text/html; charset=utf-8'))
  app.get('/', limitPage(service, 'home'), async (request, reply) => {
    reply.header('content-security-policy', DOCUMENT_SECURITY_POLICY)
    return sendStaticFile(request, reply, { file: await page(), cacheControl: 'no-cache' })
  })
  app.get(ICON_PATH, limitPage(service, 'home'), async (_request, reply) =>
    reply
      .type('image/svg+xml')
      .header('cache-control', ICON_CACHE)
      .header('content-security-policy', "default-src 'none'; sandbox")
      .send(Buffer.from(ICON)),
  )
}
