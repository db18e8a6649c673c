import { type Reason, REASONS, REASONS_PATH, statusOf } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { DOCUMENT_SECURITY_POLICY, documentPage } from '../document-page.ts'
import { limitPage } from '../page-limits.ts'
import { buildOnce, sendStaticFile, staticFile } from '../static-file.ts'
import { RETRY_TEXT } from './guide.ts'
import { REASON_GUIDES } from './guides.ts'

/** Serves the page that each error response links: its reasons are those of this build. */
export function serveReasonsPage(app: FastifyInstance, service: Service): void {
  const page = buildOnce(() => staticFile(reasonsPage(), 'text/html; charset=utf-8'))
  app.get(REASONS_PATH, limitPage(service, 'home'), async (request, reply) => {
    reply.header('content-security-policy', DOCUMENT_SECURITY_POLICY)
    return sendStaticFile(request, reply, { file: await page(), cacheControl: 'no-cache' })
  })
}

function reasonsPage(): string {
  const reasons = (Object.keys(REASONS) as Reason[]).map(describe).join('\n')
  return documentPage(
    'Error reasons',
    `<p class="lead">What each <code>error.reason</code> means, and what to do.</p>\n${reasons}`,
  )
}

function describe(reason: Reason): string {
  const { code, message } = REASONS[reason]
  const { retry, cause, remedy } = REASON_GUIDES[reason]
  return `<h2 id="${reason}"><code>${reason}</code></h2>
<p class="muted">${statusOf(reason)} <code>${code}</code>. Retryable: ${markup(RETRY_TEXT[retry])}.</p>
<p><b>What happened.</b> ${markup(message)}</p>
<p><b>Likely cause.</b> ${markup(cause)}</p>
<p><b>What to do.</b> ${markup(remedy)}</p>`
}

/** The Markdown of a guide as HTML. The documents that it links are not on this page. */
function markup(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
