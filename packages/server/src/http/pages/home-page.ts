import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { PHONE_PAGE_PATH } from './phone-page.ts'
import { buildOnce, sendStaticFile, staticFile } from './static-file.ts'

const ICON_PATH = '/favicon.ico'
/** A day: a page of the service may look at it often, and it hardly changes. */
const ICON_CACHE = 'public, max-age=86400'

/** Two joined rings. Every document of the service has them, by the address that browsers try. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="11" fill="#0b57d0"/><g fill="none" stroke="#fff" stroke-width="4.5"><circle cx="18.5" cy="24" r="8.75"/><circle cx="29.5" cy="24" r="8.75"/></g></svg>'

const STYLE = `:root{color-scheme:light dark;font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;--surface:light-dark(#fff,#12181f);--ground:light-dark(#f4f6f8,#0b1015);--ink:light-dark(#15202b,#e9eef3);--muted:light-dark(#51606f,#a8b4c1);--line:light-dark(#d8dee6,#37424e);--accent:light-dark(#0b57d0,#8ab4f8)}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);overflow-wrap:anywhere}
main{max-width:34rem;min-height:100vh;margin:0 auto;padding:1.5rem 1.25rem;background:var(--surface)}
img{display:block;width:3rem;height:3rem}
h1{margin:1rem 0 .5rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .25rem;font-size:1.0625rem}
p{margin:0}
.lead,dd{color:var(--muted)}
a{color:var(--accent)}
a:focus-visible{outline:3px solid;outline-offset:2px;border-radius:4px}
@media (min-width:40rem){main{min-height:0;margin:3rem auto;padding:2rem;border:1px solid var(--line);border-radius:1rem}}`

const styleHash = createHash('sha256').update(STYLE).digest('base64')
const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Bonded Sessions</title>
<link rel="icon" type="image/svg+xml" href="${ICON_PATH}">
<style>${STYLE}</style>
</head>
<body><main>
<img src="${ICON_PATH}" alt="">
<h1>Bonded Sessions</h1>
<p class="lead">With this service, organizations ask you to approve an important action on your phone before they carry it out.</p>
<h2>If an organization sent you here</h2>
<p>Return to its page and scan the QR code with your phone. Nothing is approved unless you approve it there.</p>
<h2>If you have approved with this phone</h2>
<p><a href="${PHONE_PAGE_PATH}">Your phones</a> lists the phones that approve as you, and removes them.</p>
<h2>If you operate this service</h2>
<p>It is running. <a href="/health/ready">/health/ready</a> says whether it accepts requests, and <code>bonded doctor</code> checks it from outside.</p>
</main></body>
</html>
`

/** Serves the root, for people who open the host itself, and the icon of all documents. */
export function serveHomePage(app: FastifyInstance, service: Service): void {
  const page = buildOnce(() => staticFile(HTML, 'text/html; charset=utf-8'))
  app.get('/', limitPage(service, 'home'), async (request, reply) => {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY)
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
